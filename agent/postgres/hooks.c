/* SPDX-License-Identifier: Apache-2.0 */
#include "tailor_pg.h"

#include <x86intrin.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "executor/instrument.h"
#include "optimizer/planner.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

static planner_hook_type next_planner = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;
static ExecutorFinish_hook_type next_finish = NULL;
static ExecutorEnd_hook_type next_end = NULL;
static ProcessUtility_hook_type next_utility = NULL;

/* Queries that are measured, between ExecutorStart and ExecutorEnd; the last used first. */
static dlist_head open_queries = DLIST_STATIC_INIT(open_queries);
/* How many of them run, one below the other. */
static int depth = 0;
static bool committing = false;

TailorQuery* tailor_open_query(EState* estate) {
  dlist_iter at;
  dlist_foreach(at, &open_queries) {
    TailorQuery* open = dlist_container(TailorQuery, open, at.cur);
    if (open->estate != estate) continue;
    dlist_move_head(&open_queries, &open->open);
    return open;
  }
  return NULL;
}

/* ---- Start
 * -------------------------------------------------------------------------------------------------- */

static void close_query(TailorQuery* open, uint64 rows, const char* error) {
  dlist_delete(&open->open);
  open->estate = NULL;
  tailor_run_end(open, rows, error);
  tailor_plan_release(open->plan);
}

/* Its memory goes: an error, unless ExecutorEnd was there before. */
static void query_is_gone(void* argument) {
  TailorQuery* open = argument;
  if (open->estate) close_query(open, 0, "ended by an error");
}

static void open_query(QueryDesc* query) {
  TailorPlan* plan = tailor_plan_of(query);
  if (!plan) return;
  TailorQuery* open = MemoryContextAllocZero(query->estate->es_query_cxt, sizeof(TailorQuery));
  open->estate = query->estate;
  open->plan = plan;
  open->rows = (query->instrument_options & INSTRUMENT_ROWS) && !IsParallelWorker();
  open->at_end.func = query_is_gone;
  open->at_end.arg = open;
  dlist_push_head(&open_queries, &open->open);
  MemoryContextRegisterResetCallback(query->estate->es_query_cxt, &open->at_end);
  tailor_run_begin(open, query);
  open->wrapped = tailor_wraps(plan);
  if (open->wrapped) tailor_wrap(open, query);
}

static void start(QueryDesc* query, int flags) {
  if (next_start)
    next_start(query, flags);
  else
    standard_ExecutorStart(query, flags);
}

static void start_in_phase(QueryDesc* query, int flags) {
  volatile bool begun = tailor_phase_begin(TAILOR_EXECUTOR_START);
  PG_TRY();
  {
    start(query, flags);
    MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
    open_query(query);
    MemoryContextSwitchTo(caller);
  }
  PG_FINALLY();
  {
    tailor_phase_end(TAILOR_EXECUTOR_START, begun);
  }
  PG_END_TRY();
}

/* Telling the numbers takes at most 1 % of the time. */
#define COUNTING_PART 100
static uint64 counts_again = 0; /* TSC: before that no rows are counted */

static bool counts_rows(void) {
  if (tailor_rows_every == 0 || IsParallelWorker()) return false;
  if (tailor_rows_every == 1) return true;
  return __rdtsc() >= counts_again &&
         pg_prng_uint64_range(&pg_global_prng_state, 1, (uint64)tailor_rows_every) == 1;
}

static void tell_rows(const TailorQuery* open, QueryDesc* query) {
  uint64 begin = __rdtsc();
  tailor_judge(open, query);
  tailor_describe(query, open->plan, true);
  uint64 end = __rdtsc();
  counts_again = end + (end - begin) * COUNTING_PART;
}

static void on_start(QueryDesc* query, int flags) {
  bool measured =
      (depth == 0 || tailor_nested_statements) && !(flags & EXEC_FLAG_EXPLAIN_ONLY) && tailor_session_live();
  if (!measured) {
    start(query, flags);
    return;
  }
  if (counts_rows()) query->instrument_options |= INSTRUMENT_ROWS | INSTRUMENT_BUFFERS;
  start_in_phase(query, flags);
}

/* ---- Run and finish
 * ----------------------------------------------------------------------------------------- */

/* What a run changes for all, and what it was before. */
typedef struct {
  uint64_t slot, begin;
  int64 cpu_ns;
  const uint64_t *tags, *returns;
  bool phase;
} Before;

static Before enter(TailorQuery* open, TailorPhase phase) {
  Before before = {.slot = *tailor_slot, .begin = __rdtsc(), .tags = tailor_tags, .returns = tailor_returns};
  if (open->rows) before.cpu_ns = tailor_cpu_ns();
  tailor_mark_execution_begin(open->run, open->plan->ids.id);
  before.phase = tailor_phase_begin(phase);
  tailor_tags = open->plan->tags;
  tailor_returns = open->plan->returns;
  *tailor_slot = 0;
  depth++;
  return before;
}

static void leave(TailorQuery* open, TailorPhase phase, uint64_t run, const Before* before) {
  depth--;
  tailor_tags = before->tags;
  tailor_returns = before->returns;
#ifndef TAILOR_TWIN_NO_RESTORE
  *tailor_slot = before->slot;
#endif
  tailor_phase_end(phase, before->phase);
  tailor_mark_execution_end(run);
  open->cycles += __rdtsc() - before->begin;
  if (open->rows) open->cpu_ns += tailor_cpu_ns() - before->cpu_ns;
}

#if PG_VERSION_NUM >= 180000
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count
#define RUN_ARGUMENTS query, direction, count
#else
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 count, bool once
#define RUN_ARGUMENTS query, direction, count, once
#endif

static void run(RUN_PARAMETERS) {
  if (next_run)
    next_run(RUN_ARGUMENTS);
  else
    standard_ExecutorRun(RUN_ARGUMENTS);
}

static void on_run(RUN_PARAMETERS) {
  TailorQuery* open = query->estate ? tailor_open_query(query->estate) : NULL;
  if (!open) {
    run(RUN_ARGUMENTS);
    return;
  }
#ifndef TAILOR_TWIN_NO_REWRAP
  /* The server has set functions of a worker's nodes anew since its start. */
  if (IsParallelWorker() && open->wrapped) tailor_wrap(open, query);
#endif
  uint64_t of_agent = open->run;
  Before before = enter(open, TAILOR_EXECUTOR_RUN);
  PG_TRY();
  {
    run(RUN_ARGUMENTS);
  }
  PG_FINALLY();
  {
    leave(open, TAILOR_EXECUTOR_RUN, of_agent, &before);
  }
  PG_END_TRY();
}

static void finish(QueryDesc* query) {
  if (next_finish)
    next_finish(query);
  else
    standard_ExecutorFinish(query);
}

/* Only what changes rows can have triggers to fire. */
static bool may_fire_triggers(const QueryDesc* query) {
  return query->operation != CMD_SELECT || query->estate->es_auxmodifytables != NIL;
}

static void on_finish(QueryDesc* query) {
  TailorQuery* open = query->estate && may_fire_triggers(query) ? tailor_open_query(query->estate) : NULL;
  if (!open) {
    finish(query);
    return;
  }
  uint64_t of_agent = open->run;
  Before before = enter(open, TAILOR_TRIGGERS);
  PG_TRY();
  {
    finish(query);
  }
  PG_FINALLY();
  {
    leave(open, TAILOR_TRIGGERS, of_agent, &before);
  }
  PG_END_TRY();
}

/* ---- End
 * ---------------------------------------------------------------------------------------------------- */

static void end(QueryDesc* query) {
  if (next_end)
    next_end(query);
  else
    standard_ExecutorEnd(query);
}

static void on_end(QueryDesc* query) {
  TailorQuery* open = query->estate ? tailor_open_query(query->estate) : NULL;
  if (!open) {
    end(query);
    return;
  }
  volatile bool begun = tailor_phase_begin(TAILOR_EXECUTOR_END);
  PG_TRY();
  {
    MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
    if (open->rows) tell_rows(open, query);
    close_query(open, query->estate->es_processed, NULL);
    MemoryContextSwitchTo(caller);
    end(query);
  }
  PG_FINALLY();
  {
    tailor_phase_end(TAILOR_EXECUTOR_END, begun);
  }
  PG_END_TRY();
}

/* ---- Phases
 * ------------------------------------------------------------------------------------------------- */

static PlannedStmt* on_plan(Query* parse, const char* text, int options, ParamListInfo parameters) {
  PlannedStmt* volatile result = NULL;
  volatile bool begun = depth == 0 && tailor_session_live() && tailor_phase_begin(TAILOR_PLANNER);
  PG_TRY();
  {
    result = next_planner ? next_planner(parse, text, options, parameters)
                          : standard_planner(parse, text, options, parameters);
  }
  PG_FINALLY();
  {
    tailor_phase_end(TAILOR_PLANNER, begun);
  }
  PG_END_TRY();
  return result;
}

static void on_utility(PlannedStmt* statement, const char* text, bool read_only,
                       ProcessUtilityContext context, ParamListInfo parameters, QueryEnvironment* environment,
                       DestReceiver* receiver, QueryCompletion* completion) {
  volatile bool begun = depth == 0 && tailor_session_live() && tailor_phase_begin(TAILOR_UTILITY);
  PG_TRY();
  {
    if (next_utility)
      next_utility(statement, text, read_only, context, parameters, environment, receiver, completion);
    else
      standard_ProcessUtility(statement, text, read_only, context, parameters, environment, receiver,
                              completion);
  }
  PG_FINALLY();
  {
    tailor_phase_end(TAILOR_UTILITY, begun);
  }
  PG_END_TRY();
}

static void on_transaction(XactEvent event, void* argument) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
      /* Of processes that run no statement, such as autovacuum's, this is all that is seen. */
      if (!committing) committing = tailor_session_live() && tailor_phase_begin(TAILOR_COMMIT);
      break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PREPARE:
    case XACT_EVENT_ABORT:
      tailor_phase_end(TAILOR_COMMIT, committing);
      committing = false;
      break;
    default:
      break;
  }
}

void tailor_install_hooks(void) {
  next_planner = planner_hook;
  planner_hook = on_plan;
  next_start = ExecutorStart_hook;
  ExecutorStart_hook = on_start;
  next_run = ExecutorRun_hook;
  ExecutorRun_hook = on_run;
  next_finish = ExecutorFinish_hook;
  ExecutorFinish_hook = on_finish;
  next_end = ExecutorEnd_hook;
  ExecutorEnd_hook = on_end;
  next_utility = ProcessUtility_hook;
  ProcessUtility_hook = on_utility;
  RegisterXactCallback(on_transaction, NULL);
}
