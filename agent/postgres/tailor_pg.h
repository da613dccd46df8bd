/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tailor_pg: says to Tailor which plan node each backend of a PostgreSQL server works for.
 *
 *   session.c    the agent of this backend: start, pump, phases
 *   settings.c   the settings tailor.*
 *   hooks.c      where the server calls us
 *   wrap.c       the wrappers around ExecProcNode that keep the slot; stubs.c their short form
 *   plans.c      the plans this backend has told about, by (query id, hash of the plan)
 *   describe.c   a plan as a dictionary; node_names.c its nodes as EXPLAIN calls them
 *   shown_plan.c a plan as text, for tailor_last_plan()
 *   overhead.c   what the wrappers of a plan cost, and whether they are worth it
 *   runs.c       executions and their labels
 *   waits.c      what this backend waits for, and what the server calls it
 *   statement.c  the text of a statement without its literals
 *
 * A backend is one thread, so nothing here locks. Nothing here may wait or fail: where the agent cannot be
 * had, or no daemon listens, queries run as if the extension were not loaded.
 */
#ifndef TAILOR_PG_H
#define TAILOR_PG_H

#include "postgres.h"

#include "executor/executor.h"
#include "lib/ilist.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "nodes/plannodes.h"
#include "tailor/agent.h"
#include "tailor/dictionary.h"

/* PostgreSQL 15 marks what it exports with nothing, so the rest says that it is ours alone. */
#pragma GCC visibility push(hidden)

/* ---- Settings (settings.c) ---------------------------------------------------------------------------- */

typedef enum { TAILOR_TEXT_OFF, TAILOR_TEXT_NORMALIZED, TAILOR_TEXT_FULL } TailorText;

extern bool tailor_enabled;
extern bool tailor_nested_statements;
extern bool tailor_phases;
extern int tailor_rows_every;       /* actual rows of one in so many executions; 0: never */
extern double tailor_most_overhead; /* %: of a plan's time, by its wrappers */
extern int tailor_short_run_ms;     /* runs of a plan that took less share one execution */
extern int tailor_query_text;       /* TailorText */
extern char* tailor_socket;
extern char* tailor_leader; /* a worker's: the execution of its leader, 32 hexadecimal digits */

void tailor_define_settings(void);

/* ---- The agent of this backend (session.c) ------------------------------------------------------------- */

typedef enum {
  TAILOR_PLANNER,
  TAILOR_EXECUTOR_START,
  TAILOR_EXECUTOR_RUN,
  TAILOR_TRIGGERS,
  TAILOR_EXECUTOR_END,
  TAILOR_UTILITY,
  TAILOR_COMMIT,
  TAILOR_PHASES
} TailorPhase;

/* Where this backend keeps its tag. Never NULL: without an agent a word that nobody reads. */
extern uint64_t* tailor_slot;

/* True while a daemon listens. Starts the agent on the first call, and pumps it now and then. */
bool tailor_session_live(void);
/* Sends what waits, as far as the socket takes it. */
void tailor_session_pump(void);
/* A phase of this backend's work begins or ends. They nest. Nothing happens where no daemon listened when the
 * outermost began. */
bool tailor_phase_begin(TailorPhase phase);
void tailor_phase_end(TailorPhase phase, bool begun);

/* ---- Waits (waits.c) ---------------------------------------------------------------------------------- */

/* Asks the server for the names of its wait events, once. */
void tailor_learn_waits(void);
/* Says them to the daemon, and where this backend keeps its own. */
void tailor_tell_waits(void);

/* ---- Plans (plans.c) ------------------------------------------------------------------------------------
 */

/* A plan that was told to the daemon. Lives until it is the one that was not used for longest. */
typedef struct TailorPlan {
  uint64 query_id, hash; /* the key */
  struct tailor_plan_ids ids;
  int node_ids;      /* above all plan_node_id */
  uint64_t* tags;    /* by plan_node_id */
  uint64_t* returns; /* by plan_node_id: the tag that a static child leaves behind */
  int users;         /* queries that hold it */
  dlist_node by_use; /* least recently used last */
  /* How long its runs take, a moving average, in cycles of the TSC; 0: it has not run yet. */
  double cycles;
  /* The execution that short runs share; 0: none is open. */
  uint64_t shared_run;
  uint64_t shared_since; /* TSC */
  uint32 shared_labels;  /* hash of what was said of it */
  /* The part of its time that wrappers cost, by the last execution that counted calls; below 0: none did. */
  double wrapper_part;
  char* text; /* tailor_last_plan() */
} TailorPlan;

/* The plan of an initialised query, told to the daemon if it is new. NULL if that was not possible. */
TailorPlan* tailor_plan_of(QueryDesc* query);
void tailor_plan_release(TailorPlan* plan);

/* Walks the nodes of a query, each once: those of the main tree first, a parent before its children.
 * `parent` is NULL at a root. */
typedef void (*TailorVisit)(PlanState* node, PlanState* parent, void* context);
void tailor_walk(QueryDesc* query, TailorVisit visit, void* context);

/* ---- Dictionaries (describe.c, node_names.c, statement.c) ------------------------------------------------
 */

/* Loads the plan under its ids, with the actual rows of `query` if `with_rows`. False: refused by the agent.
 */
bool tailor_describe(QueryDesc* query, TailorPlan* plan, bool with_rows);
/* "SubPlan 1", "InitPlan 2 (returns $1)", "CTE x": NULL for an input of `parent`. */
const char* tailor_subplan_name(PlanState* node, PlanState* parent);
/* Writes plan->text, with the numbers of `query` if it counted rows (shown_plan.c). */
void tailor_show(QueryDesc* query, TailorPlan* plan, bool with_rows);
/* What EXPLAIN calls a node: "Parallel Seq Scan on orders o". */
void tailor_node_name(PlanState* node, StringInfo out);
/* The component of a node on the level "operator". */
#define TAILOR_COMPONENT_OF(plan_node_id) ((uint32_t)(plan_node_id) + 1)

/* The text of the statement, as tailor.query_text says. False: none. */
bool tailor_statement_text(QueryDesc* query, StringInfo out);
/* Appends the `length` bytes of `text`, every literal replaced by '?', comments left out. */
void tailor_without_literals(const char* text, int length, StringInfo out);
/* The trace id of a traceparent in a comment that begins or ends the text. False: none. */
bool tailor_trace_id(const char* text, char out[33]);

/* ---- Executions (runs.c) ---------------------------------------------------------------------------------
 */

/* A Hash Join of a query (wrap.c). */
typedef struct TailorJoin {
  PlanState* join;
  ExecProcNodeMtd first;      /* what its function was made by us */
  PlanState* source;          /* what its Hash reads */
  ExprState* key;             /* evaluated for each tuple of the other input, before all else */
  ExprStateEvalFunc evaluate; /* of `key`, while `key` has ours; else NULL */
} TailorJoin;

/* A query between ExecutorStart and ExecutorEnd, in its own memory context. */
typedef struct TailorQuery {
  dlist_node open; /* in the list of open queries */
  EState* estate;
  TailorPlan* plan;
  uint64_t run; /* of the agent */
  bool shared;  /* `run` belongs to the plan */
  bool rows;    /* its actual rows are counted */
  bool wrapped;
  uint64_t cycles;
  int64 cpu_ns; /* where rows are counted */
  MemoryContextCallback at_end;
  List* joins; /* of TailorJoin */
} TailorQuery;

/* The open query of this state, NULL: it is not measured. */
TailorQuery* tailor_open_query(EState* estate);

/* Begins the execution of a query. */
void tailor_run_begin(TailorQuery* open, QueryDesc* query);
/* It ended; `error` NULL: in success. */
void tailor_run_end(TailorQuery* open, uint64 rows, const char* error);
/* Ends what short runs of the plan share. */
void tailor_shared_run_end(TailorPlan* plan);

/* What tailor_last_execution() and tailor_last_plan() say, and how a run is called: 32 hexadecimal digits
 * (last_execution.c). */
void tailor_remember_run(uint64_t run, TailorPlan* plan);
/* The plan goes. */
void tailor_forget_plan(const TailorPlan* plan);
void tailor_run_name(uint64_t run, char out[33]);

/* ---- Wrappers (wrap.c) -----------------------------------------------------------------------------------
 */

/* The tags of the plan that runs, by plan_node_id. */
extern const uint64_t* tailor_tags;
/* And what static children leave in the slot. */
extern const uint64_t* tailor_returns;

/* Wraps all nodes of a query, and those again that the server has unwrapped since. */
void tailor_wrap(TailorQuery* open, QueryDesc* query);

#define TAILOR_STUBS 256
/* The addresses of the stubs of node ids below TAILOR_STUBS. */
ExecProcNodeMtd tailor_stub(int plan_node_id);
ExecProcNodeMtd tailor_static_stub(int plan_node_id);

/* ---- Overhead (overhead.c) -------------------------------------------------------------------------------
 */

/* The query ran and counted its rows: notes what wrappers cost its plan. */
void tailor_judge(const TailorQuery* open, QueryDesc* query);
/* The CPU time of this backend. */
int64 tailor_cpu_ns(void);
/* Whether the next execution of the plan is wrapped: so many are that tailor.most_overhead holds. */
bool tailor_wraps(const TailorPlan* plan);
/* "0.4 % of its time". False: nothing is known. */
bool tailor_wrappers_text(const TailorPlan* plan, StringInfo out);

void tailor_install_hooks(void);

#pragma GCC visibility pop

/* For tests: the plan_node_id that the slot names, -1 if it names none. */
extern PGDLLEXPORT int tailor_pg_slot_node(void);

#endif
