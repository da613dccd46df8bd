/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "describe.h"

#include <math.h>

#include "executor/executor.h"
#include "executor/instrument.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "conditions.h"
#include "node_names.h"
#include "objects.h"
#include "overhead.h"
#include "plan.h"
#include "shown_plan.h"
#include "statement.h"
#include "utf8.h"
#include "walk.h"

#define NAME_BYTES 120

typedef struct {
  struct tailor_plan_builder* builder;
  int32_t level;
  bool with_rows;
  TailorConditions conditions;
  int nodes;
  PlanState** by_id; /* NULL where the planner left a number out */
} Description;

static void collect(PlanState* node, PlanState* parent, void* context) {
  Description* plan = context;
  plan->by_id[node->plan->plan_node_id] = node;
  plan->conditions.parents[node->plan->plan_node_id] = parent;
}

static void add_actual_rows(Description* plan, uint32_t component, PlanState* node) {
  Instrumentation* count = node->instrument;
  if (!plan->with_rows || !count) return;
  InstrEndLoop(count);
  tailor_plan_builder_set_number(plan->builder, plan->level, component, "loops", count->nloops);
  if (count->nloops > 0)
    tailor_plan_builder_set_number(plan->builder, plan->level, component, "actual_rows",
                                   rint(count->ntuples / count->nloops));
  if (!count->need_bufusage) return;
  tailor_plan_builder_set_number(plan->builder, plan->level, component, "pages_hit",
                                 (double)(count->bufusage.shared_blks_hit + count->bufusage.local_blks_hit));
  tailor_plan_builder_set_number(
      plan->builder, plan->level, component, "pages_read",
      (double)(count->bufusage.shared_blks_read + count->bufusage.local_blks_read));
}

static void add_wrappers(Description* plan, PlanState* root, const TailorPlan* of) {
  StringInfoData text;
  initStringInfo(&text);
  if (tailor_wrappers_text(of, &text))
    tailor_plan_builder_set_text(plan->builder, plan->level, TAILOR_COMPONENT_OF(root->plan->plan_node_id),
                                 "wrappers", text.data);
  pfree(text.data);
}

static void add_relation_name(const TailorPlace* place, const char* key, const char* name) {
  if (name)
    tailor_plan_builder_set_text(place->builder, place->level, place->component, key,
                                 tailor_utf8(quote_identifier(name)));
}

void tailor_tell_relation(const TailorPlace* place, Oid table, Oid index) {
  if (OidIsValid(table)) {
    add_relation_name(place, "table", get_rel_name(table));
    add_relation_name(place, "schema", get_namespace_name_or_temp(get_rel_namespace(table)));
  }
  if (OidIsValid(index)) add_relation_name(place, "index", get_rel_name(index));
}

static void add_conditions(Description* plan, uint32_t component, PlanState* node) {
  StringInfoData text;
  initStringInfo(&text);
  if (tailor_node_conditions(&plan->conditions, node, &text))
    tailor_plan_builder_set_text(plan->builder, plan->level, component, "condition", tailor_utf8(text.data));
  pfree(text.data);
}

static void add_node(Description* plan, PlanState* node) {
  StringInfoData name;
  initStringInfo(&name);
  tailor_node_name(node, &name);
  uint32_t component = tailor_plan_builder_add_component(plan->builder, plan->level, tailor_utf8(name.data),
                                                         tailor_utf8(tailor_node_kind(node)));
  tailor_plan_builder_set_number(plan->builder, plan->level, component, "estimated_rows",
                                 node->plan->plan_rows);
  tailor_plan_builder_set_number(plan->builder, plan->level, component, "cost",
                                 rint(node->plan->total_cost * 100) / 100);
  const TailorPlace place = {plan->builder, plan->level, component};
  tailor_tell_relation(&place, tailor_relation_of(node), tailor_index_of(node));
  add_conditions(plan, component, node);
  if (tailor_is_hidden(node))
    tailor_plan_builder_set_text(plan->builder, plan->level, component, "time", "in the Bitmap Heap Scan");
  add_actual_rows(plan, component, node);
  pfree(name.data);
}

static void add_link(PlanState* node, PlanState* parent, void* context) {
  Description* plan = context;
  uint32_t component = TAILOR_COMPONENT_OF(node->plan->plan_node_id);
  if (!parent) return;
  tailor_plan_builder_add_input(plan->builder, plan->level, TAILOR_COMPONENT_OF(parent->plan->plan_node_id),
                                component);
  const char* subplan = tailor_subplan_name(node, parent);
  if (subplan)
    tailor_plan_builder_set_text(plan->builder, plan->level, component, "details", tailor_utf8(subplan));
}

const char* tailor_told_text(const TailorPiece* piece) {
  StringInfoData text;
  initStringInfo(&text);
  return tailor_statement_text(piece, &text) ? tailor_utf8(text.data) : NULL;
}

const char* tailor_told_name(const char* text, uint64 query_id) {
  if (!text) return query_id ? psprintf("query " INT64_FORMAT, (int64)query_id) : "a query without an id";
  int length = (int)strlen(text);
  return pnstrdup(text, (Size)pg_encoding_mbcliplen(PG_UTF8, text, length, NAME_BYTES));
}

bool tailor_describe(QueryDesc* query, const TailorPiece* piece, TailorPlan* plan, bool with_rows) {
  Description description = {.with_rows = with_rows, .conditions = {.query = query}, .nodes = plan->node_ids};
  description.by_id = palloc0(sizeof(PlanState*) * (size_t)plan->node_ids);
  description.conditions.parents = palloc0(sizeof(PlanState*) * (size_t)plan->node_ids);
  tailor_walk(query, collect, &description);
  const char* text = tailor_told_text(piece);
  description.builder = tailor_plan_builder_new(tailor_told_name(text, plan->query_id));
  description.level = tailor_plan_builder_add_level(description.builder, "operator");
  for (int id = 0; id < plan->node_ids; id++) {
    if (description.by_id[id])
      add_node(&description, description.by_id[id]);
    else
      tailor_plan_builder_add_components(description.builder, description.level, 1);
  }
  tailor_walk(query, add_link, &description);
  add_wrappers(&description, query->planstate, plan);
  if (text) tailor_plan_builder_attach(description.builder, "sql", text, strlen(text));
  int error = tailor_plan_builder_load(description.builder, plan->ids.id);
  tailor_plan_builder_free(description.builder);
  pfree(description.by_id);
  pfree(description.conditions.parents);
  tailor_show(query, plan, with_rows);
  return error == 0;
}
