/* SPDX-License-Identifier: Apache-2.0 */
/* A plan as lines of text: the number of each node, its name as EXPLAIN has it, and what is known of it. */
#include "postgres.h"

#include "shown_plan.h"

#include <math.h>

#include "executor/executor.h"
#include "executor/instrument.h"
#include "utils/memutils.h"

#include "node_names.h"
#include "overhead.h"
#include "plan.h"
#include "walk.h"

typedef struct {
  StringInfoData text;
  int* depth; /* by plan_node_id */
  bool with_rows;
} Shown;

static void add_numbers(Shown* shown, PlanState* node) {
  Instrumentation* count = node->instrument;
  appendStringInfo(&shown->text, "  (estimated: cost %.2f, %.0f rows", node->plan->total_cost,
                   node->plan->plan_rows);
  if (shown->with_rows && count) {
    InstrEndLoop(count);
    appendStringInfo(&shown->text, "; counted: %.0f rows in %.0f loops", count->ntuples, count->nloops);
    if (count->need_bufusage)
      appendStringInfo(&shown->text, ", %lld pages hit, %lld read",
                       (long long)(count->bufusage.shared_blks_hit + count->bufusage.local_blks_hit),
                       (long long)(count->bufusage.shared_blks_read + count->bufusage.local_blks_read));
  }
  appendStringInfoString(&shown->text, ")\n");
}

static void add_line(PlanState* node, PlanState* parent, void* context) {
  Shown* shown = context;
  int id = node->plan->plan_node_id;
  shown->depth[id] = parent ? shown->depth[parent->plan->plan_node_id] + 1 : 0;
  appendStringInfo(&shown->text, "%4d  %*s", (int)TAILOR_COMPONENT_OF(id), 2 * shown->depth[id], "");
  const char* subplan = parent ? tailor_subplan_name(node, parent) : NULL;
  if (subplan) appendStringInfo(&shown->text, "%s: ", subplan);
  tailor_node_name(node, &shown->text);
  add_numbers(shown, node);
}

void tailor_show(QueryDesc* query, TailorPlan* plan, bool with_rows) {
  Shown shown = {.with_rows = with_rows, .depth = palloc0(sizeof(int) * (size_t)plan->node_ids)};
  initStringInfo(&shown.text);
  tailor_walk(query, add_line, &shown);
  if (plan->wrapper_part >= 0) {
    appendStringInfoString(&shown.text, "wrappers: ");
    tailor_wrappers_text(plan, &shown.text);
    appendStringInfoChar(&shown.text, '\n');
  }
  shown.text.data[shown.text.len - 1] = '\0'; /* the end of the last line */
  if (plan->text) pfree(plan->text);
  plan->text = MemoryContextStrdup(GetMemoryChunkContext(plan), shown.text.data);
  pfree(shown.text.data);
  pfree(shown.depth);
}
