/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "plans.h"

#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/ipc.h"
#include "tailor/tag.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"

#include "describe.h"
#include "last_execution.h"
#include "parts.h"
#include "phases.h"
#include "plan.h"
#include "runs.h"
#include "session.h"
#include "shape.h"
#include "statement.h"
#include "walk.h"

/* Plans that a backend keeps told. Each costs the daemon some kilobytes. */
#define PLANS_KEPT 256

/* What a session keeps of a plan is shown to the user who ran it: another user's plan is another one. */
typedef struct {
  uint64 query_id, hash, user;
} PlanKey;

typedef struct {
  PlanKey key;
  TailorPlan* plan;
} PlanEntry;

static HTAB* known = NULL;
static MemoryContext memory = NULL;
static dlist_head by_use = DLIST_STATIC_INIT(by_use);

/* ---- The plans that were told
 * ------------------------------------------------------------------------------ */

/* The process ends: says what short runs of all plans came to. The agent began before, so it stops later. */
static void end_shared_runs(int code, Datum argument) {
  dlist_iter at;
  dlist_foreach(at, &by_use) {
    tailor_shared_run_end(dlist_container(TailorPlan, by_use, at.cur));
  }
  tailor_session_pump();
}

static void prepare(void) {
  HASHCTL control = {.keysize = sizeof(PlanKey), .entrysize = sizeof(PlanEntry)};
  memory = AllocSetContextCreate(TopMemoryContext, "tailor_pg", ALLOCSET_DEFAULT_SIZES);
  control.hcxt = memory;
  known = hash_create("plans told to Tailor", PLANS_KEPT, &control, HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
  on_proc_exit(end_shared_runs, (Datum)0);
}

static void release_memory(TailorPlan* plan) {
  if (plan->text) pfree(plan->text);
  if (plan->runs) pfree(plan->runs);
  pfree(plan->tags);
  pfree(plan);
}

static void forget(TailorPlan* plan) {
  PlanKey key = {plan->query_id, plan->hash, plan->user};
  tailor_shared_run_end(plan);
  tailor_forget_plan(plan);
  tailor_plan_unload(plan->ids.id);
  dlist_delete(&plan->by_use);
  hash_search(known, &key, HASH_REMOVE, NULL);
  release_memory(plan);
}

/* Makes room for one more. False: all are in use. */
static bool make_room(void) {
  dlist_iter at;
  if (hash_get_num_entries(known) < PLANS_KEPT) return true;
  dlist_reverse_foreach(at, &by_use) {
    TailorPlan* plan = dlist_container(TailorPlan, by_use, at.cur);
    if (plan->users > 0) continue;
    forget(plan);
    return true;
  }
  return false;
}

static void add_tag(PlanState* node, PlanState* parent, void* context) {
  TailorPlan* plan = context;
  uint32_t component = TAILOR_COMPONENT_OF(node->plan->plan_node_id);
  /* A plan of more nodes than a tag can name: the others have none, and count for no node. */
  uint64_t tag =
      component > TAILOR_TAG_COMPONENT_MAX ? TAILOR_TAG_NONE : tailor_tag(&plan->ids, component, 0);
  plan->tags[node->plan->plan_node_id] = tag;
  if (parent) plan->returns[node->plan->plan_node_id] = plan->tags[parent->plan->plan_node_id];
}

/* NULL: no agent, or it refused. */
static TailorPlan* tell(QueryDesc* query, const TailorPiece* piece, PlanKey key, int node_ids) {
  struct tailor_plan_ids ids = tailor_plan_new();
  if (ids.id == 0) return NULL;
  MemoryContext caller = MemoryContextSwitchTo(memory);
  TailorPlan* plan = palloc0(sizeof(TailorPlan));
  plan->tags = palloc0(2 * sizeof(uint64_t) * (size_t)node_ids);
  MemoryContextSwitchTo(caller);
  plan->returns = plan->tags + node_ids;
  plan->query_id = key.query_id;
  plan->hash = key.hash;
  plan->user = (Oid)key.user;
  plan->ids = ids;
  plan->node_ids = node_ids;
  plan->wrapper_part = -1;
  plan->run_tag = tailor_phase_of_plan(&ids, TAILOR_EXECUTOR_RUN);
  plan->triggers_tag = tailor_phase_of_plan(&ids, TAILOR_TRIGGERS);
  tailor_walk(query, add_tag, plan);
  if (tailor_describe(query, piece, plan, false)) return plan;
  tailor_plan_unload(ids.id);
  release_memory(plan);
  return NULL;
}

static TailorPlan* tell_new(QueryDesc* query, const TailorPiece* piece, PlanKey key, int node_ids) {
  if (!make_room()) return NULL;
  TailorPlan* plan = tell(query, piece, key, node_ids);
  if (!plan) return NULL;
  ((PlanEntry*)hash_search(known, &key, HASH_ENTER, NULL))->plan = plan;
  dlist_push_head(&by_use, &plan->by_use);
  return plan;
}

/* NULL: it was not told. */
static TailorPlan* find(PlanKey key) {
  /* As a rule a session repeats few statements, often the last. */
  if (!dlist_is_empty(&by_use)) {
    TailorPlan* newest = dlist_head_element(TailorPlan, by_use, &by_use);
    if (newest->query_id == key.query_id && newest->hash == key.hash && newest->user == key.user)
      return newest;
  }
  PlanEntry* entry = hash_search(known, &key, HASH_FIND, NULL);
  return entry ? entry->plan : NULL;
}

/* The plan that a query had last. NULL: none is kept, or the server computes no query ids. */
static TailorPlan* last_of_query(uint64 query_id) {
  dlist_iter at;
  dlist_foreach(at, &by_use) {
    TailorPlan* plan = dlist_container(TailorPlan, by_use, at.cur);
    if (query_id != 0 && plan->query_id == query_id && plan->user == GetUserId()) return plan;
  }
  return NULL;
}

/* EXPLAIN ANALYZE, DECLARE CURSOR and others run a query that has the id of the same query by itself. Their
 * texts differ, at the latest in the first word. Without a query id only the text says what it is. */
static uint64 hash_of_text(uint64 query_id, const TailorPiece* piece) {
  return query_id == 0 ? tailor_statement_hash(piece) : tailor_first_word(piece);
}

/* Ends the sums of plans that run no more. Otherwise their runs are not counted until the session ends. */
static void end_old_shared_runs(uint64 now) {
  static uint64 looked = 0;
  dlist_iter at;
  if (now - looked <= TAILOR_SHARED_CYCLES) return;
  looked = now;
  dlist_foreach(at, &by_use) {
    TailorPlan* plan = dlist_container(TailorPlan, by_use, at.cur);
    /* A run that is open would not be in the sum. */
    if (plan->users == 0 && now - plan->shared_since > TAILOR_SHARED_CYCLES) tailor_shared_run_end(plan);
  }
}

static TailorPlan* plan_of_shape(QueryDesc* query, const TailorPiece* piece, uint64 query_id) {
  TailorShape shape = tailor_shape_of(query, hash_of_text(query_id, piece));
  PlanKey key = {query_id, shape.hash, GetUserId()};
  TailorPlan* plan = find(key);
  return plan ? plan : tell_new(query, piece, key, shape.node_ids);
}

TailorPlan* tailor_plan_of(QueryDesc* query, const TailorPiece* piece, uint64 now) {
  uint64 query_id = (uint64)query->plannedstmt->queryId;
  if (!known) prepare();
  end_old_shared_runs(now);
  TailorPlan* plan = tailor_part_walk ? NULL : last_of_query(query_id);
  if (!plan) plan = plan_of_shape(query, piece, query_id);
  if (!plan) return NULL;
  dlist_move_head(&by_use, &plan->by_use);
  plan->users++;
  return plan;
}

void tailor_plan_release(TailorPlan* plan) {
  plan->users--;
}
