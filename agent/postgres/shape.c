/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Walking all nodes costs much beside a short statement, so shapes of plans that the server caches are kept
 * here, by the address of the plan. A statement in the simple protocol has a new plan each time, and the
 * address of one that is freed returns with another plan. So only plans in a memory context of cached plans
 * are kept, and the end of that context forgets them.
 */
#include "postgres.h"

#include "shape.h"

#include "executor/executor.h"
#include "nodes/plannodes.h"
#include "utils/memutils.h"

#include "node_names.h"
#include "walk.h"

/* ---- Of all nodes
 * ------------------------------------------------------------------------------------------- */

typedef struct {
  TailorShape shape;
  bool varies; /* another execution of the plan may have other nodes */
} Walked;

static uint32 detail_of(PlanState* node) {
  switch (nodeTag(node->plan)) {
    case T_Agg:
      return (uint32)((Agg*)node->plan)->aggstrategy << 8 | (uint32)((Agg*)node->plan)->aggsplit;
    case T_NestLoop:
    case T_MergeJoin:
    case T_HashJoin:
      return (uint32)((Join*)node->plan)->jointype;
    default:
      return tailor_index_of(node);
  }
}

/* Whether its start may leave out inputs, by the parameters of the execution. */
static bool may_leave_out(const Plan* plan) {
#if PG_VERSION_NUM >= 180000
  if (IsA(plan, Append)) return ((const Append*)plan)->part_prune_index >= 0;
  return IsA(plan, MergeAppend) && ((const MergeAppend*)plan)->part_prune_index >= 0;
#else
  if (IsA(plan, Append)) return ((const Append*)plan)->part_prune_info != NULL;
  return IsA(plan, MergeAppend) && ((const MergeAppend*)plan)->part_prune_info != NULL;
#endif
}

/* Both factors are odd and have bits all over; each word of a plan passes both. */
static uint64 mixed(uint64 hash, uint64 word) {
  hash = (hash ^ word) * UINT64CONST(0x9E3779B97F4A7C15);
  hash = (hash ^ hash >> 29) * UINT64CONST(0xBF58476D1CE4E5B9);
  return hash ^ hash >> 32;
}

static void add_to_shape(PlanState* node, PlanState* parent, void* context) {
  Walked* walked = context;
  TailorShape* shape = &walked->shape;
  uint64 kind = (uint64)nodeTag(node->plan) << 1 | node->plan->parallel_aware;
  uint64 place = parent ? (uint64)parent->plan->plan_node_id + 1 : 0;
  uint64 words[3] = {kind << 32 | (uint32)node->plan->plan_node_id,
                     (uint64)tailor_relation_of(node) << 32 | detail_of(node), place};
  for (int i = 0; i < lengthof(words); i++) shape->hash = mixed(shape->hash, words[i]);
  shape->node_ids = Max(shape->node_ids, node->plan->plan_node_id + 1);
  walked->varies = walked->varies || may_leave_out(node->plan);
}

/* ---- Of cached plans
 * ---------------------------------------------------------------------------------------- */

#define KEPT_BITS 6

/* Plans whose addresses have one place take turns. */
static struct KeptShape {
  const PlannedStmt* plan; /* NULL: the place is free */
  MemoryContext context;   /* of the plan */
  uint64 of_text;
  TailorShape shape;
} kept_shapes[1 << KEPT_BITS];

static struct KeptShape* place_of(const PlannedStmt* plan) {
  return &kept_shapes[mixed(0, (uint64)(uintptr_t)plan) >> (64 - KEPT_BITS)];
}

static void plans_are_gone(void* context) {
#ifndef TAILOR_TWIN_STALE_SHAPES
  for (int i = 0; i < lengthof(kept_shapes); i++) {
    if (kept_shapes[i].context == context) kept_shapes[i].plan = NULL;
  }
#endif
}

/* Whether the end of the context will be noticed. False: it has no cached plans. */
static bool watches(MemoryContext context) {
  if (strcmp(context->name, "CachedPlan") != 0) return false;
  for (const MemoryContextCallback* each = context->reset_cbs; each; each = each->next) {
    if (each->func == plans_are_gone) return true;
  }
  MemoryContextCallback* callback =
      MemoryContextAllocExtended(context, sizeof(MemoryContextCallback), MCXT_ALLOC_NO_OOM);
  if (!callback) return false;
  callback->func = plans_are_gone;
  callback->arg = context;
  MemoryContextRegisterResetCallback(context, callback);
  return true;
}

TailorShape tailor_shape_of(QueryDesc* query, uint64 of_text) {
  PlannedStmt* plan = query->plannedstmt;
  struct KeptShape* kept = place_of(plan);
  if (kept->plan == plan && kept->of_text == of_text) return kept->shape;
  Walked walked = {.shape = {.hash = of_text}};
  tailor_walk(query, add_to_shape, &walked);
  MemoryContext context = GetMemoryChunkContext(plan);
  if (!walked.varies && watches(context))
    *kept = (struct KeptShape){.plan = plan, .context = context, .of_text = of_text, .shape = walked.shape};
  return walked.shape;
}
