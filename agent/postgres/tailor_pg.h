/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tailor_pg: says to Tailor which plan node each backend of a PostgreSQL server works for.
 *
 *   session.c    the agent of this backend: start, pump
 *   phases.c     what the backend does where no node runs
 *   settings.c   the settings tailor.*
 *   hooks.c      where the server calls us
 *   open_queries.c  the queries that are measured, by their state
 *   wrap.c       the wrappers around ExecProcNode that keep the slot; stubs.c their short form
 *   objects.c    the nodes of a query as objects that call stacks show
 *   plans.c      the plans this backend has told about, by (query id, hash of the plan)
 *   describe.c   a plan as a dictionary; node_names.c its nodes as EXPLAIN calls them
 *   shown_plan.c a plan as text, for tailor_last_plan()
 *   overhead.c   what the wrappers of a plan cost, and whether they are worth it
 *   runs.c       executions and their labels
 *   waits.c      what this backend waits for, and what the server calls it
 *   statement.c  the text of a statement without its literals; trace.c the trace that it belongs to
 *   utf8.c       texts of the server in the encoding of Tailor's messages
 *   last_execution.c  what a session is told of its last statement
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
extern int tailor_rows_every;       /* one of this many executions counts its actual rows; 0: none */
extern double tailor_most_overhead; /* %: of a plan's time, by its wrappers */
extern int tailor_short_run_ms;     /* runs of a plan that took less share one execution */
extern int tailor_query_text;       /* TailorText */
extern char* tailor_socket;
extern char* tailor_leader; /* TailorLeader as text, for workers */

void tailor_define_settings(void);

/* ---- The agent of this backend (session.c) ------------------------------------------------------------- */

/* Where this backend keeps its tag. Never NULL: without an agent a word that nobody reads. */
extern uint64_t* tailor_slot;
/* True while a daemon listens, as far as the last look tells. */
extern bool tailor_listened;

/* True while a daemon listens. Starts the agent on the first call, and pumps it now and then. `now`: TSC. */
bool tailor_session_live(uint64 now);
/* Sends what waits, as far as the socket takes it. */
void tailor_session_pump(void);

/* ---- Phases (phases.c) -------------------------------------------------------------------------------- */

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

/* Declares the phases to the agent, which has just started. */
void tailor_declare_phases(void);
/* The tag of a phase that works for the execution of a plan; 0 if phases have no tags. */
uint64_t tailor_phase_of_plan(const struct tailor_plan_ids* plan, TailorPhase phase);
/* What the slot says in a phase that works for no execution. */
extern uint64_t tailor_phase_tags[TAILOR_PHASES];

/* Such a phase of this backend's work begins. Returns what is to be given to tailor_phase_end. Phases nest.
 * After an error that jumps over the end, tailor_phases_aborted ends them. */
static inline uint64_t tailor_phase_begin(TailorPhase phase) {
  uint64_t before = *tailor_slot;
  if (tailor_phases) *tailor_slot = tailor_phase_tags[phase];
  return before;
}

static inline void tailor_phase_end(uint64_t before) {
  *tailor_slot = before;
}

/* An error has ended what was below a utility command, or below nothing. */
void tailor_phases_aborted(void);
/* A utility command runs, or has ended: what it said before. It may catch errors. */
uint64_t tailor_utility_begin(void);
void tailor_utility_end(uint64_t before);

/* ---- Waits (waits.c) ---------------------------------------------------------------------------------- */

/* Asks the server for the names of its wait events, once. */
void tailor_learn_waits(void);
/* Says them to the daemon, and where this backend keeps its own. */
void tailor_tell_waits(void);

/* ---- Statements (statement.c, trace.c) ----------------------------------------------------------------- */

/* The part of a message that is one statement. It lies in the query's source text. */
typedef struct {
  const char* text; /* NULL: there is none */
  int length;       /* below 0: to the end of the message */
} TailorPiece;

TailorPiece tailor_piece_of(const QueryDesc* query);

/* A utility command that runs, with the message it came in. */
typedef struct {
  const PlannedStmt* statement;
  const char* text;
} TailorUtility;

/* The innermost one; NULL: none. */
extern const TailorUtility* tailor_utility;

/* Puts the text of the statement, as tailor.query_text says, into `out`, which is empty. False: none. */
bool tailor_statement_text(const TailorPiece* piece, StringInfo out);
/* The same with every literal replaced by '?' and comments left out. It ends in " ..." if it was cut. */
void tailor_without_literals(const TailorPiece* piece, StringInfo out);
/* Of the text without literals. */
uint64 tailor_statement_hash(const TailorPiece* piece);
/* A number for the first word: SELECT, EXPLAIN. */
uint64 tailor_first_word(const TailorPiece* piece);

typedef struct {
  char id[33];
  char span[17]; /* whose work the statement is; "" none */
  bool sampled;  /* somebody keeps the trace */
} TailorTrace;

/* What a traceparent says in a comment that begins or ends the statement. False: there is none. */
bool tailor_trace_of(const TailorPiece* piece, TailorTrace* out);

/* ---- Encoding (utf8.c) -------------------------------------------------------------------------------- */

/* A text in the database's encoding, or a copy of it in UTF-8 in the current memory context. */
const char* tailor_utf8(const char* text);
/* The same for names of databases and users: all databases of a server see the bytes that one of them wrote.
 */
const char* tailor_shared_utf8(const char* name);

/* ---- Plans (plans.c) ------------------------------------------------------------------------------------
 */

/* A plan that was told to the daemon. Lives until it is the one that was not used for longest. */
typedef struct TailorPlan {
  uint64 query_id, hash; /* the key, with */
  Oid user;              /* who runs it */
  struct tailor_plan_ids ids;
  int node_ids;                   /* above all plan_node_id */
  uint64_t* tags;                 /* by plan_node_id */
  uint64_t* returns;              /* by plan_node_id: the tag that a static child leaves behind */
  uint64_t run_tag, triggers_tag; /* in the slot where none of its nodes runs */
  int users;                      /* queries that hold it */
  dlist_node by_use;              /* least recently used last */
  /* How long its runs take, a moving average, in cycles of the TSC; 0: it has not run yet. */
  double cycles;
  /* The execution that short runs share; 0: none is open. */
  uint64_t shared_run;
  uint64_t shared_since; /* TSC */
  uint32 shared_labels;  /* what was said of it, as a number */
  /* The part of its time that wrappers cost, by the last execution that counted calls; below 0: none did. */
  double wrapper_part;
  char* text; /* tailor_last_plan() */
} TailorPlan;

/* The plan of an initialised query, told to the daemon if it is new. NULL if that was not possible. */
TailorPlan* tailor_plan_of(QueryDesc* query, const TailorPiece* piece);
void tailor_plan_release(TailorPlan* plan);

/* Walks the nodes of a query, each once: those of the main tree first, a parent before its children.
 * `parent` is NULL at a root. */
typedef void (*TailorVisit)(PlanState* node, PlanState* parent, void* context);
void tailor_walk(QueryDesc* query, TailorVisit visit, void* context);

/* ---- Dictionaries (describe.c, node_names.c) ------------------------------------------------
 */

/* Loads the plan under its ids, with the actual rows of `query` if `with_rows`. False: refused by the agent.
 */
bool tailor_describe(QueryDesc* query, const TailorPiece* piece, TailorPlan* plan, bool with_rows);
/* "SubPlan 1", "InitPlan 2 (returns $1)", "CTE x": NULL for an input of `parent`. */
const char* tailor_subplan_name(PlanState* node, PlanState* parent);
/* Writes plan->text, with the numbers of `query` if it counted rows (shown_plan.c). */
void tailor_show(QueryDesc* query, TailorPlan* plan, bool with_rows);
/* What EXPLAIN calls a node: "Parallel Seq Scan on orders o". */
void tailor_node_name(PlanState* node, StringInfo out);
/* The same without what tells nodes of one kind apart: "Seq Scan". */
const char* tailor_node_kind(PlanState* node);
/* The table that a node reads or changes, and the index that it reads. InvalidOid: none. */
Oid tailor_relation_of(PlanState* node);
Oid tailor_index_of(PlanState* node);
/* The component of a node on the level "operator". */
#define TAILOR_COMPONENT_OF(plan_node_id) ((uint32_t)(plan_node_id) + 1)

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
  dlist_node open; /* among the open queries */
  EState* estate;
  TailorPiece piece; /* its text */
  TailorPlan* plan;
  uint64_t run;    /* of the agent */
  bool shared;     /* `run` belongs to the plan */
  bool rows;       /* its actual rows are counted */
  bool wrapped;    /* its nodes are */
  uint64_t cycles; /* that it ran */
  uint64_t since;  /* TSC of its start, 0 once it has run: the first run begins there */
  int64 cpu_ns;    /* where rows are counted */
  MemoryContextCallback at_end;
  List* joins;                    /* of TailorJoin */
  struct tailor_objects* objects; /* its nodes */
} TailorQuery;

/* The open query of this state, NULL: it is not measured (open_queries.c). */
TailorQuery* tailor_open_query(const EState* estate);
void tailor_add_open_query(TailorQuery* open);
void tailor_remove_open_query(TailorQuery* open);

/* What a parallel worker is told by its leader. */
typedef struct {
  char execution[33]; /* 32 hexadecimal digits */
  int begin, length;  /* its TailorPiece in the source text, whose end nobody has looked for yet */
} TailorLeader;

/* False: this is no worker, or its leader told it nothing. */
bool tailor_leader_of_worker(TailorLeader* out);

/* Begins the execution of a query. `now`: TSC. */
void tailor_run_begin(TailorQuery* open, QueryDesc* query, uint64 now);
/* It ended; `error` NULL: in success. */
void tailor_run_end(TailorQuery* open, uint64 rows, const char* error);
/* Ends what short runs of the plan share. */
void tailor_shared_run_end(TailorPlan* plan);

/* What tailor_last_execution() and tailor_last_plan() say, and how a run is called: 32 hexadecimal digits
 * (last_execution.c). */
void tailor_remember_run(uint64_t run, const TailorPlan* plan);
/* A statement ran that has no execution. */
void tailor_forget_run(void);
/* The plan goes. */
void tailor_forget_plan(const TailorPlan* plan);
void tailor_run_name(uint64_t run, char out[33]);

/* ---- Wrappers (wrap.c) -----------------------------------------------------------------------------------
 */

/* The tags of the plan that runs, by plan_node_id. */
extern const uint64_t* tailor_tags;
/* And what static children leave in the slot. */
extern const uint64_t* tailor_returns;

/* Puts all nodes of a query into its table of objects. With `wrapped` it wraps them too, and those again that
 * the server has unwrapped since. */
void tailor_take_nodes(TailorQuery* open, QueryDesc* query, bool wrapped);
/* The query ends: gives back what its nodes do not need any more. */
void tailor_drop_nodes(TailorQuery* open);

/* ---- Objects (objects.c) ---------------------------------------------------------------------------------
 */

/* A table for the nodes of a query whose memory context is the current one. `is_only`: no other query is open
 * that said so. */
struct tailor_objects* tailor_objects_new(TailorQuery* open, bool is_only);
void tailor_object_set(struct tailor_objects* objects, PlanState* node);
/* No wrapper names it, but that of a node above. */
bool tailor_is_hidden(PlanState* node);

#define TAILOR_STUBS 256
/* The addresses of the stubs of node ids below TAILOR_STUBS. */
ExecProcNodeMtd tailor_stub(int plan_node_id);
ExecProcNodeMtd tailor_static_stub(int plan_node_id);

/* ---- Overhead (overhead.c) -------------------------------------------------------------------------------
 */

/* The query ran and counted its rows: notes what wrappers cost its plan. */
void tailor_judge(const TailorQuery* open, QueryDesc* query);
/* The plan runs and nobody judges it yet: the next execution of its statement is to. */
void tailor_judge_next(const TailorPlan* plan, const QueryDesc* query);
/* Whether this is such an execution. It is the only one that is told so. */
bool tailor_is_to_be_judged(const QueryDesc* query);
/* The CPU time of this backend. */
int64 tailor_cpu_ns(void);
/* Whether the next execution of the plan is wrapped. What is wrapped keeps to tailor.most_overhead. */
bool tailor_wraps(const TailorPlan* plan);
/* "0.4 % of its time". False: nothing is known. */
bool tailor_wrappers_text(const TailorPlan* plan, StringInfo out);

void tailor_install_hooks(void);

#pragma GCC visibility pop

/* For tests: the plan_node_id that the slot names, -1 if it names none. */
extern PGDLLEXPORT int tailor_pg_slot_node(void);

#endif
