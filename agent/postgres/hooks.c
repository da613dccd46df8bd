/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "hooks.h"

#include <x86intrin.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "common/pg_prng.h"
#include "executor/executor.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "optimizer/planner.h"
#include "tailor/tag.h"
#include "tcop/utility.h"
#include "utils/memutils.h"

#include "command.h"
#include "describe.h"
#include "last_execution.h"
#include "objects.h"
#include "open_queries.h"
#include "overhead.h"
#include "parts.h"
#include "phases.h"
#include "plan.h"
#include "plans.h"
#include "query.h"
#include "runs.h"
#include "session.h"
#include "settings.h"
#include "slot.h"
#include "statement.h"
#include "wrap.h"

static planner_hook_type next_planner = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;
static ExecutorFinish_hook_type next_finish = NULL;
static ExecutorEnd_hook_type next_end = NULL;
static ProcessUtility_hook_type next_utility = NULL;

/* How many measured queries run, one below the other. */
static int depth = 0;
/* A query runs that is not measured, and is below none that is. */
static bool runs_unmeasured = false;
/* A transaction commits, and what the slot said before. */
static bool committing = false;
static uint64_t before_commit = 0;

/* ---- Start
 * -------------------------------------------------------------------------------------------------- */

static void close_query(TailorQuery* open, uint64 rows, const char* error) {
  tailor_remove_open_query(open);
  open->estate = NULL;
  tailor_drop_nodes(open);
  tailor_run_end(open, rows, error);
  tailor_plan_release(open->plan);
}

/* Most sessions have one query open at a time. Its place is free again when its memory context is gone, whose
 * callback lies in it. */
static TailorQuery only;
static bool only_in_use = false;

/* Its memory goes: an error, unless ExecutorEnd was there before. */
static void query_is_gone(void* argument) {
  TailorQuery* open = argument;
  if (open->estate) close_query(open, 0, "ended by an error");
  if (open == &only) only_in_use = false;
}

static TailorQuery* new_query(EState* estate) {
  if (only_in_use) return MemoryContextAllocZero(estate->es_query_cxt, sizeof(TailorQuery));
  only_in_use = true;
  only = (TailorQuery){.estate = NULL};
  return &only;
}

/* False: the daemon's operator wants to know what tags cost, and this execution was drawn to have none. It
 * has no wrappers then, and call stacks tell its nodes. What the slot says where no node runs stays: that
 * costs a few stores an execution. */
static bool may_wrap(const TailorQuery* open) {
#ifdef TAILOR_TWIN_KEEPS_TAGS
  return true;
#endif
  return open->run == 0 || tailor_execution_tag_strategy(open->run) != TAILOR_TAGS_NONE;
}

static void open_query(QueryDesc* query, uint64 now) {
  TailorPiece piece = tailor_piece_of(query);
  TailorPlan* plan = tailor_plan_of(query, &piece, now);
  if (!plan) return;
  TailorQuery* open = new_query(query->estate);
  open->since = now;
  open->estate = query->estate;
  open->piece = piece;
  open->plan = plan;
  open->rows = (query->instrument_options & INSTRUMENT_ROWS) && !IsParallelWorker();
  if (!open->rows) tailor_judge_next(plan, query);
  open->at_end.func = query_is_gone;
  open->at_end.arg = open;
  tailor_add_open_query(open);
  MemoryContextRegisterResetCallback(query->estate->es_query_cxt, &open->at_end);
  tailor_run_begin(open, query, now);
  open->objects = tailor_objects_new(open, open == &only);
  tailor_take_nodes(open, query, may_wrap(open) && tailor_wraps(plan));
}

static void start(QueryDesc* query, int flags) {
  if (next_start)
    next_start(query, flags);
  else
    standard_ExecutorStart(query, flags);
}

/* What a statement below a node does before and after its run is that node's. */
static uint64_t begin_unless_below(TailorPhase phase) {
  return depth == 0 ? tailor_phase_begin(phase) : *tailor_slot;
}

static void start_measured(QueryDesc* query, int flags, uint64 now) {
  uint64_t before = begin_unless_below(TAILOR_EXECUTOR_START);
  start(query, flags);
  MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
  open_query(query, now);
  MemoryContextSwitchTo(caller);
  tailor_phase_end(before);
}

/* Telling the numbers takes at most a thousandth of the time. */
#define COUNTING_PART 1000
static uint64 counts_again = 0; /* TSC: before that no rows are counted */

static bool counts_rows(const QueryDesc* query, uint64 now) {
  if (IsParallelWorker()) return false;
  if (tailor_rows_every == 1) return true;
  if (now < counts_again) return false;
  if (tailor_is_to_be_judged(query)) return true;
  return tailor_rows_every > 0 &&
         pg_prng_uint64_range(&pg_global_prng_state, 1, (uint64)tailor_rows_every) == 1;
}

static void tell_rows(const TailorQuery* open, QueryDesc* query) {
  uint64 begin = __rdtsc();
  tailor_judge(open, query);
  tailor_describe(query, &open->piece, open->plan, true);
  tailor_session_pump();
  uint64 end = __rdtsc();
  counts_again = end + (end - begin) * COUNTING_PART;
}

static void on_start(QueryDesc* query, int flags) {
  uint64 now = __rdtsc();
  bool measured = (depth == 0 || tailor_nested_statements) && !(flags & EXEC_FLAG_EXPLAIN_ONLY) &&
                  tailor_session_live(now);
  if (!measured) {
    start(query, flags);
    return;
  }
  if (counts_rows(query, now)) query->instrument_options |= INSTRUMENT_ROWS | INSTRUMENT_BUFFERS;
  start_measured(query, flags, now);
}

/* ---- Run and finish
 * ----------------------------------------------------------------------------------------- */

/* What a run changes for all, and what it was before. */
typedef struct {
  uint64_t slot, begin;
  int64 cpu_ns;
  const uint64_t *tags, *returns;
  const struct tailor_objects* objects;
  uint64_t marked; /* the run of the agent whose begin is in the log; 0: none */
} Before;

/* The tag of a short run names its plan, of which one execution runs. Others have marks too: of their plan
 * more executions may run, and reports show when each did. So have those below a node or a command, as the
 * log says already that the thread works for another. */
static bool has_marks(const TailorQuery* open) {
  return !open->shared || depth > 0 || tailor_command_runs();
}

static Before enter(TailorQuery* open, uint64_t tag) {
  Before before = {.slot = *tailor_slot, .tags = tailor_tags, .returns = tailor_returns};
  before.begin = open->since ? open->since : __rdtsc();
  open->since = 0;
  if (open->rows) before.cpu_ns = tailor_cpu_ns();
  if (has_marks(open)) {
    before.marked = open->run;
    tailor_mark_execution_begin(open->run, open->plan->ids.id);
  }
  tailor_tags = open->plan->tags;
  tailor_returns = open->plan->returns;
  before.objects = tailor_thread_objects(open->objects);
  tailor_put(tailor_phases ? tag : TAILOR_TAG_NONE);
  depth++;
  return before;
}

static void leave(TailorQuery* open, const Before* before) {
  depth--;
  tailor_tags = before->tags;
  tailor_returns = before->returns;
#ifndef TAILOR_TWIN_NO_RESTORE
  tailor_put(before->slot);
#endif
  tailor_thread_objects(before->objects);
  if (before->marked) tailor_mark_execution_end(before->marked);
  open->cycles += __rdtsc() - before->begin;
  if (open->rows) open->cpu_ns += tailor_cpu_ns() - before->cpu_ns;
  tailor_remember_run(open->run, open->plan);
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

static void unmeasured_ended(void) {
  tailor_forget_run();
  runs_unmeasured = false;
}

/* Functions in the query may ask for the statement before it, so that one is forgotten at the end. */
static void run_unmeasured(RUN_PARAMETERS) {
  bool outermost = depth == 0 && !runs_unmeasured;
  if (outermost) runs_unmeasured = true;
  run(RUN_ARGUMENTS);
  if (outermost) unmeasured_ended();
}

static void on_run(RUN_PARAMETERS) {
  TailorQuery* open = query->estate ? tailor_open_query(query->estate) : NULL;
  if (!open) {
    run_unmeasured(RUN_ARGUMENTS);
    return;
  }
#ifndef TAILOR_TWIN_NO_REWRAP
  /* The server has set functions of a worker's nodes anew since its start. */
  if (IsParallelWorker() && open->wrapped) tailor_take_nodes(open, query, true);
#endif
  Before before = enter(open, open->plan->run_tag);
  if (!tailor_part_try) {
    run(RUN_ARGUMENTS);
    leave(open, &before);
    return;
  }
  PG_TRY();
  {
    run(RUN_ARGUMENTS);
  }
  PG_FINALLY();
  {
    leave(open, &before);
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
  Before before = enter(open, open->plan->triggers_tag);
  if (!tailor_part_try) {
    finish(query);
    leave(open, &before);
    return;
  }
  PG_TRY();
  {
    finish(query);
  }
  PG_FINALLY();
  {
    leave(open, &before);
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
  uint64_t before = begin_unless_below(TAILOR_EXECUTOR_END);
  MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
  if (open->rows) tell_rows(open, query);
  close_query(open, query->estate->es_processed, NULL);
  MemoryContextSwitchTo(caller);
  end(query);
  tailor_phase_end(before);
}

/* ---- Phases
 * ------------------------------------------------------------------------------------------------- */

static PlannedStmt* plan(Query* parse, const char* text, int options, ParamListInfo parameters) {
  return next_planner ? next_planner(parse, text, options, parameters)
                      : standard_planner(parse, text, options, parameters);
}

/* No clock is read: what follows as a rule, the start of a query, looks whether it is time to pump. */
static PlannedStmt* on_plan(Query* parse, const char* text, int options, ParamListInfo parameters) {
  if (depth > 0 || !tailor_enabled || !tailor_listened) return plan(parse, text, options, parameters);
  uint64_t before = tailor_phase_begin(TAILOR_PLANNER);
  PlannedStmt* result = plan(parse, text, options, parameters);
  tailor_phase_end(before);
  return result;
}

#define UTILITY_PARAMETERS                                                                 \
  PlannedStmt *statement, const char *text, bool read_only, ProcessUtilityContext context, \
      ParamListInfo parameters, QueryEnvironment *environment, DestReceiver *receiver,     \
      QueryCompletion *completion
#define UTILITY_ARGUMENTS statement, text, read_only, context, parameters, environment, receiver, completion

static void utility(UTILITY_PARAMETERS) {
  if (next_utility)
    next_utility(UTILITY_ARGUMENTS);
  else
    standard_ProcessUtility(UTILITY_ARGUMENTS);
}

/* COPY counts rows. */
static uint64 rows_of_command(const PlannedStmt* statement, const QueryCompletion* completion) {
  return completion && IsA(statement->utilityStmt, CopyStmt) ? completion->nprocessed : UINT64_MAX;
}

/* What a command changes while it runs, and what it was before. */
typedef struct {
  TailorUtility own;
  const TailorUtility* around;
  uint64_t slot;
  volatile bool told, failed; /* kept when an error jumps */
} RunningUtility;

static void run_utility(RunningUtility* command, UTILITY_PARAMETERS) {
  command->told = tailor_command_begin(&command->own);
  utility(UTILITY_ARGUMENTS);
  command->failed = false;
}

static void leave_utility(const RunningUtility* command, const QueryCompletion* completion) {
  tailor_utility = command->around;
  if (command->told)
    tailor_command_end(command->failed ? UINT64_MAX : rows_of_command(command->own.statement, completion),
                       command->failed);
  tailor_utility_end(command->slot);
}

static void on_utility(UTILITY_PARAMETERS) {
  /* What a function or a procedure runs is part of a statement. COMMIT and the like are between statements.
   */
  bool is_statement = depth == 0 && !runs_unmeasured && !tailor_utility;
  if (is_statement && !IsA(statement->utilityStmt, TransactionStmt)) tailor_forget_run();
  if (depth > 0 || !tailor_session_live(__rdtsc())) {
    utility(UTILITY_ARGUMENTS);
    return;
  }
  RunningUtility command = {.own = {statement, text}, .around = tailor_utility, .failed = true};
  command.slot = tailor_utility_begin();
  tailor_utility = &command.own;
  if (!tailor_part_try) {
    run_utility(&command, UTILITY_ARGUMENTS);
    leave_utility(&command, completion);
    return;
  }
  PG_TRY();
  {
    run_utility(&command, UTILITY_ARGUMENTS);
  }
  PG_FINALLY();
  {
    leave_utility(&command, completion);
  }
  PG_END_TRY();
}

/* Of processes that run no statement, such as autovacuum's, commits are all that is seen. */
static bool commit_is_measured(void) {
  if (depth > 0) return false;
  if (MyBackendType == B_BACKEND) return tailor_enabled && tailor_listened;
  return tailor_session_live(__rdtsc());
}

static void on_transaction(XactEvent event, void* argument) {
  switch (event) {
    case XACT_EVENT_PRE_COMMIT:
    case XACT_EVENT_PRE_PREPARE:
      if (committing || !commit_is_measured()) break;
      committing = true;
      before_commit = tailor_phase_begin(TAILOR_COMMIT);
      break;
    case XACT_EVENT_COMMIT:
    case XACT_EVENT_PREPARE:
      if (committing) tailor_phase_end(before_commit);
      committing = false;
      break;
    case XACT_EVENT_ABORT:
      if (depth == 0) tailor_phases_aborted();
      if (runs_unmeasured) unmeasured_ended();
      committing = false;
      break;
    default:
      break;
  }
}

static void on_subtransaction(SubXactEvent event, SubTransactionId own, SubTransactionId parent,
                              void* argument) {
  if (event != SUBXACT_EVENT_ABORT_SUB) return;
  if (depth == 0) tailor_phases_aborted();
  if (runs_unmeasured) unmeasured_ended();
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
  RegisterSubXactCallback(on_subtransaction, NULL);
}
