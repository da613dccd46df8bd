/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the wrappers of a plan cost: the calls that an execution counted, times what one call of a wrapper
 * costs on this machine, as a part of the execution's time. Counting makes the execution slower; what that
 * costs a call is measured too and taken off its time. Both are measured by themselves, in a loop, so that
 * the part is an estimate.
 */
#include "postgres.h"

#include "overhead.h"

#include <time.h>

#include "access/parallel.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"

#include "plan.h"
#include "query.h"
#include "settings.h"
#include "slot.h"
#include "stubs.h"
#include "walk.h"

#define ROUNDS 4
#define CALLS 1024

typedef struct {
  double wrapper, counting; /* ns a call */
} CallCosts;

int64 tailor_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64)now.tv_sec * 1000000000 + now.tv_nsec;
}

static TupleTableSlot* nothing(PlanState* node) {
  return NULL;
}

static TupleTableSlot* counted(PlanState* node) {
  InstrStartNode(node->instrument);
  InstrStopNode(node->instrument, 1);
  return NULL;
}

static double ns_of(ExecProcNodeMtd function, PlanState* node) {
  ExecProcNodeMtd volatile called = function;
  int64 least = INT64_MAX;
  for (int round = 0; round < ROUNDS; round++) {
    int64 begin = tailor_cpu_ns();
    for (int i = 0; i < CALLS; i++) called(node);
    least = Min(least, tailor_cpu_ns() - begin);
  }
  return (double)least / CALLS;
}

/* Measured once in each backend, in some ten microseconds. */
static const CallCosts* call_costs(void) {
  static CallCosts costs = {-1, -1};
  if (costs.wrapper >= 0) return &costs;
  Instrumentation count = {.need_bufusage = true, .running = true};
  PlanState node = {.ExecProcNodeReal = nothing, .instrument = &count};
  uint64_t tag = *tailor_slot;
  const uint64_t* tags = tailor_tags;
  tailor_tags = &tag;
  double plain = ns_of(nothing, &node);
  costs.wrapper = Max(ns_of(tailor_stub(0), &node) - plain, 0);
  costs.counting = Max(ns_of(counted, &node) - plain, 0);
  tailor_tags = tags;
  return &costs;
}

/* Each row and the end of each loop is a call. Nodes that the server calls otherwise have none. */
static void add_calls(PlanState* node, PlanState* parent, void* context) {
  double* calls = context;
  if (!node->instrument || IsA(node, HashState) || IsA(node, BitmapIndexScanState) ||
      IsA(node, BitmapAndState) || IsA(node, BitmapOrState))
    return;
  InstrEndLoop(node->instrument);
  *calls += node->instrument->ntuples + node->instrument->nloops;
}

void tailor_judge(const TailorQuery* open, QueryDesc* query) {
  double calls = 0;
  /* EXPLAIN ANALYZE reads clocks at each call. And the calls of workers are not in the leader's time. */
  bool as_ever = !(query->instrument_options & INSTRUMENT_TIMER) && !query->plannedstmt->parallelModeNeeded;
  if (!as_ever || open->cpu_ns <= 0) return;
  tailor_walk(query, add_calls, &calls);
  const CallCosts* costs = call_costs();
  double counted_run = (double)open->cpu_ns, counting = calls * costs->counting;
  /* What a call costs by itself can be more than it costs among others, but never most of the time. */
  double plain_run = Max(counted_run - counting, counted_run / 4);
  open->plan->wrapper_part = calls * costs->wrapper / plain_run;
}

/* The query ids of statements whose plans no execution has judged yet; 0: none. Newer ones take the places of
 * older ones. */
#define MOST_TO_JUDGE 16
static uint64 to_judge[MOST_TO_JUDGE];
static int to_judge_count = 0, to_judge_last = 0;

static int place_to_judge(uint64 query_id) {
  for (int i = 0; to_judge_count > 0 && i < MOST_TO_JUDGE; i++) {
    if (to_judge[i] == query_id) return i;
  }
  return -1;
}

void tailor_judge_next(const TailorPlan* plan, const QueryDesc* query) {
  bool limited = tailor_most_overhead > 0 && tailor_most_overhead < 100;
  bool can_be = plan->query_id != 0 && !query->plannedstmt->parallelModeNeeded && !IsParallelWorker();
  if (!limited || !can_be || plan->wrapper_part >= 0 || place_to_judge(plan->query_id) >= 0) return;
  to_judge_last = (to_judge_last + 1) % MOST_TO_JUDGE;
  to_judge_count += to_judge[to_judge_last] == 0;
  to_judge[to_judge_last] = plan->query_id;
}

bool tailor_is_to_be_judged(const QueryDesc* query) {
  uint64 query_id = (uint64)query->plannedstmt->queryId;
  int place = query_id == 0 ? -1 : place_to_judge(query_id);
  if (place < 0) return false;
  to_judge[place] = 0;
  to_judge_count--;
  return true;
}

/* One execution in this many is wrapped. */
static double one_in(const TailorPlan* plan) {
  if (tailor_most_overhead >= 100) return 1;
  return Max(plan->wrapper_part * 100 / tailor_most_overhead, 1);
}

bool tailor_wraps(const TailorPlan* plan) {
  if (tailor_most_overhead == 0) return false;
  double every = one_in(plan);
  return every <= 1 || pg_prng_double(&pg_global_prng_state) * every < 1;
}

bool tailor_wrappers_text(const TailorPlan* plan, StringInfo out) {
  if (plan->wrapper_part < 0) return false;
  appendStringInfo(out, "%.2g %% of its time", plan->wrapper_part * 100);
  if (tailor_most_overhead == 0) {
    appendStringInfoString(out, ", if it had them");
    return true;
  }
  double every = one_in(plan);
  if (every > 1) appendStringInfo(out, ", so that one execution in %.1f has them", every);
  return true;
}
