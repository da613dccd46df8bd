/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the slot true: while a plan node runs it holds the node's tag. A wrapper around the node's function
 * saves the slot, writes the tag, and puts back what it found. It stands in PlanState.ExecProcNode, and the
 * server's own function stays in ExecProcNodeReal.
 *
 * An error jumps over wrappers. Every ExecProcNode runs below an ExecutorRun or ExecutorFinish of its own
 * query, so these put back the slot (hooks.c), and the catcher of the error runs above them.
 *
 * Static children. Three kinds of nodes run without a wrapper of their own:
 *   - Hash: the server calls it by another way (MultiExecProcNode);
 *   - a Parallel Hash Join in the leader, from the moment when the server sets its function anew (with the
 * shared memory of the workers) until one of its inputs is called first;
 *   - a Hash Join, after its Hash is done: the slot names the Hash until the join calls its other input
 * again. Their inputs are called by nobody else, so these leave the tag of their parent behind, whatever they
 * found. A join that goes on with a tuple it has read before is noticed when it evaluates the tuple's key.
 * Bitmap Index Scan, BitmapAnd and BitmapOr have no such inputs: their time is in the Bitmap Heap Scan above.
 * Nodes of EvalPlanQual are made later, and work in the name of the node that rechecks.
 */
#include "postgres.h"

#include "wrap.h"

#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "tailor/tag.h"

#include "objects.h"
#include "open_queries.h"
#include "parts.h"
#include "query.h"
#include "slot.h"
#include "stubs.h"
#include "walk.h"

static bool is_ours(PlanState* node);
static TupleTableSlot* first(PlanState* node);
static TupleTableSlot* first_static(PlanState* node);
static TupleTableSlot* first_source(PlanState* node);

static inline uint64_t get(void) {
  return __atomic_load_n(tailor_slot, __ATOMIC_RELAXED);
}

static TupleTableSlot* run(PlanState* node) {
#ifdef TAILOR_TWIN_NO_COUNTS
  return node->ExecProcNodeReal(node);
#endif
  if (!node->instrument) return node->ExecProcNodeReal(node);
  InstrStartNode(node->instrument);
  TupleTableSlot* result = node->ExecProcNodeReal(node);
  InstrStopNode(node->instrument, TupIsNull(result) ? 0.0 : 1.0);
  return result;
}

/* For node ids without a stub, and for nodes that EXPLAIN ANALYZE counts. */
static TupleTableSlot* wrapped(PlanState* node) {
  uint64_t before = get();
  tailor_put(tailor_tags[node->plan->plan_node_id]);
  TupleTableSlot* result = run(node);
  tailor_put(before);
  return result;
}

static TupleTableSlot* wrapped_static(PlanState* node) {
  tailor_put(tailor_tags[node->plan->plan_node_id]);
  TupleTableSlot* result = run(node);
  tailor_put(tailor_returns[node->plan->plan_node_id]);
  return result;
}

/* ---- Hash joins -------------------------------------------------------------------------------------------
 */

#ifndef TAILOR_TWIN_NO_REWRAP
/* Wraps the Parallel Hash Joins of the query again whose function the server has set anew. */
static void wrap_joins_again(EState* estate) {
  TailorQuery* open = tailor_open_query(estate);
  ListCell* cell;
  foreach (cell, open ? open->joins : NIL) {
    TailorJoin* join = lfirst(cell);
    if (!is_ours(join->join)) join->join->ExecProcNode = join->first;
  }
}
#else
static void wrap_joins_again(EState* estate) {}
#endif

static ExprState* outer_key(HashJoinState* join) {
#if PG_VERSION_NUM >= 180000
  return join->hj_OuterHash;
#else
  return join->hj_OuterHashKeys ? linitial(join->hj_OuterHashKeys) : NULL;
#endif
}

static void give_key_back(TailorJoin* join) {
  join->key->evalfunc = join->evaluate;
  join->evaluate = NULL;
}

/* The Hash is done, and the join goes on with a tuple that it has read before. */
static Datum goes_on(ExprState* key, ExprContext* context, bool* isnull) {
  TailorQuery* open = tailor_open_query(key->parent->state);
  ListCell* cell;
  foreach (cell, open ? open->joins : NIL) {
    TailorJoin* join = lfirst(cell);
    if (join->key != key || !join->evaluate) continue;
    tailor_put(tailor_tags[join->join->plan->plan_node_id]);
    give_key_back(join);
    return key->evalfunc(key, context, isnull);
  }
  /* A key has our function while its join is awaited, and at no other time. */
  elog(ERROR, "tailor_pg does not know the join that goes on");
}

/* What a Hash reads has ended. */
static void await_join(PlanState* source) {
  TailorQuery* open = tailor_open_query(source->state);
  ListCell* cell;
  foreach (cell, open ? open->joins : NIL) {
    TailorJoin* join = lfirst(cell);
    if (join->source != source || !join->key || join->key->evalfunc == goes_on) continue;
    join->evaluate = join->key->evalfunc;
    join->key->evalfunc = goes_on;
  }
}

void tailor_drop_nodes(TailorQuery* open) {
  ListCell* cell;
  foreach (cell, open->joins) {
    TailorJoin* join = lfirst(cell);
    if (join->evaluate) give_key_back(join);
  }
  open->joins = NIL;
}

static TupleTableSlot* wrapped_source(PlanState* node) {
  TupleTableSlot* result = wrapped_static(node);
  if (TupIsNull(result)) await_join(node);
  return result;
}

/* ---- First calls ------------------------------------------------------------------------------------------
 */

/* Gather and Gather Merge set up the shared memory in their first call. */
static TupleTableSlot* wrapped_gather(PlanState* node) {
  TupleTableSlot* result = wrapped(node);
  wrap_joins_again(node->state);
  return result;
}

static TupleTableSlot* wrapped_gather_source(PlanState* node) {
  TupleTableSlot* result = wrapped_source(node);
  wrap_joins_again(node->state);
  return result;
}

/* What the server does before a node's first call, then the wrapper for all others. */
static TupleTableSlot* call_first(PlanState* node, ExecProcNodeMtd wrapper) {
  check_stack_depth();
  if (node->state->es_use_parallel_mode) wrap_joins_again(node->state);
  node->ExecProcNode = wrapper;
  return wrapper(node);
}

static bool is_gather(PlanState* node) {
  return IsA(node, GatherState) || IsA(node, GatherMergeState);
}

static bool has_stub(PlanState* node) {
  return !node->instrument && node->plan->plan_node_id < TAILOR_STUBS;
}

static TupleTableSlot* first(PlanState* node) {
  if (is_gather(node)) return call_first(node, wrapped_gather);
  if (!tailor_part_stores) return call_first(node, run);
  return call_first(node, has_stub(node) ? tailor_stub(node->plan->plan_node_id) : wrapped);
}

static TupleTableSlot* first_static(PlanState* node) {
  if (!tailor_part_stores) return call_first(node, run);
  return call_first(node, has_stub(node) ? tailor_static_stub(node->plan->plan_node_id) : wrapped_static);
}

static TupleTableSlot* first_source(PlanState* node) {
  return call_first(node, is_gather(node) ? wrapped_gather_source : wrapped_source);
}

static bool is_ours(PlanState* node) {
  static const ExecProcNodeMtd kOurs[] = {first,          first_static,          first_source,
                                          wrapped,        wrapped_static,        wrapped_source,
                                          wrapped_gather, wrapped_gather_source, run};
  ExecProcNodeMtd function = node->ExecProcNode;
  int id = node->plan->plan_node_id;
  for (int i = 0; i < lengthof(kOurs); i++) {
    if (function == kOurs[i]) return true;
  }
  return id < TAILOR_STUBS && (function == tailor_stub(id) || function == tailor_static_stub(id));
}

/* ---- All nodes of a query ---------------------------------------------------------------------------------
 */

static bool has_join(const TailorQuery* open, const PlanState* node) {
  ListCell* cell;
  foreach (cell, open->joins) {
    if (((TailorJoin*)lfirst(cell))->join == node) return true;
  }
  return false;
}

static void add_join(TailorQuery* open, HashJoinState* node) {
  PlanState* hash = innerPlanState(&node->js.ps);
  TailorJoin* join = palloc0(sizeof(TailorJoin));
  join->join = &node->js.ps;
  join->first = node->js.ps.ExecProcNode;
  join->source = hash ? outerPlanState(hash) : NULL;
  join->key = outer_key(node);
  open->joins = lappend(open->joins, join);
}

static void take_node(PlanState* node, PlanState* parent, void* context) {
  tailor_object_set(((TailorQuery*)context)->objects, node);
}

static void wrap_node(PlanState* node, PlanState* parent, void* context) {
  TailorQuery* open = context;
  tailor_object_set(open->objects, node);
  bool below_join = parent && IsA(parent, HashJoinState) && node == outerPlanState(parent);
  bool below_hash = parent && IsA(parent, HashState);
  if (open->wrapped && is_ours(node)) return;
  node->ExecProcNode = below_hash ? first_source : below_join ? first_static : first;
  if (IsA(node, HashJoinState) && !has_join(open, node)) add_join(open, (HashJoinState*)node);
}

void tailor_take_nodes(TailorQuery* open, QueryDesc* query, bool wrapped) {
  if (!tailor_part_walk) return;
  MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
  tailor_walk(query, wrapped ? wrap_node : take_node, open);
  MemoryContextSwitchTo(caller);
  open->wrapped = wrapped;
}

int tailor_pg_slot_node(void) {
  uint64_t tag = get();
  return tag ? (int)tailor_tag_upper(tag) - 1 : -1;
}
