/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Executions. A run that is likely to be short shares one execution with other runs of its plan in this
 * backend, because an execution costs two messages to the daemon, and a mark in shared memory only
 * nanoseconds.
 */
#include "postgres.h"

#include "runs.h"

#include <arpa/inet.h>
#include <x86intrin.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "commands/dbcommands.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/backend_status.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "last_execution.h"
#include "leader.h"
#include "plan.h"
#include "query.h"
#include "session.h"
#include "settings.h"
#include "ticks.h"
#include "trace.h"
#include "utf8.h"

/* Of how long a plan takes, the part that its last run decides. */
#define NEWEST 0.25

#define MOST_LABELS 10

typedef struct {
  struct tailor_label label[MOST_LABELS];
  size_t count;
} Labels;

static void add(Labels* labels, const char* key, const char* value) {
  if (value && *value && labels->count < MOST_LABELS)
    labels->label[labels->count++] = (struct tailor_label){key, value};
}

/* The address that the client has, NULL over a UNIX socket. */
static const char* client(void) {
  static char text[INET6_ADDRSTRLEN];
  if (!MyBEEntry) return NULL;
  const struct sockaddr* address = (const struct sockaddr*)&MyBEEntry->st_clientaddr.addr;
  if (address->sa_family == AF_INET)
    return inet_ntop(AF_INET, &((const struct sockaddr_in*)address)->sin_addr, text, sizeof(text));
  if (address->sa_family == AF_INET6)
    return inet_ntop(AF_INET6, &((const struct sockaddr_in6*)address)->sin6_addr, text, sizeof(text));
  return NULL;
}

static const char* user(void) {
  const char* name = GetUserNameFromId(GetUserId(), true);
  return name ? tailor_shared_utf8(name) : NULL;
}

static const char* database(void) {
  static char* name = NULL;
  if (!name && OidIsValid(MyDatabaseId)) {
    char* found = get_database_name(MyDatabaseId);
    if (found) name = MemoryContextStrdup(TopMemoryContext, tailor_shared_utf8(found));
  }
  return name;
}

static void add_leader(Labels* labels) {
  if (!IsParallelWorker()) return;
  static TailorLeader leader;
  if (tailor_leader_of_worker(&leader)) add(labels, "leader_execution", leader.execution);
  if (MyProc->lockGroupLeader) add(labels, "leader_pid", psprintf("%d", MyProc->lockGroupLeader->pid));
}

static Labels labels_of(uint64 query_id, const TailorTrace* trace, bool shared) {
  Labels labels = {.count = 0};
  add(&labels, "database", database());
  add(&labels, "user", user());
  add(&labels, "application", application_name ? tailor_utf8(application_name) : NULL);
  add(&labels, "client", client());
  if (query_id) add(&labels, "query_id", psprintf(INT64_FORMAT, (int64)query_id));
  if (trace) {
    add(&labels, "trace_id", trace->id);
    add(&labels, "span_id", trace->span);
  }
  if (shared) add(&labels, TAILOR_RUNS_LABEL, TAILOR_RUNS_LABEL_VALUE);
  add_leader(&labels);
  return labels;
}

/* What is said of a shared execution, besides its plan: the number of what was said last. */
static uint32 shared_labels(void) {
  static uint32 number = 0;
  static Oid user = InvalidOid;
  static char application[NAMEDATALEN] = "";
  const char* name = application_name ? application_name : "";
  if (user == GetUserId() && strncmp(application, name, sizeof(application) - 1) == 0) return number;
  user = GetUserId();
  strlcpy(application, name, sizeof(application));
  return ++number;
}

static bool is_short(const TailorPlan* plan) {
  /* The rate of the TSC is near enough to 2.5 GHz on all machines for this choice. */
  return plan->cycles > 0 && plan->cycles < (double)tailor_short_run_ms * 2.5e6;
}

/* Where memory is short or nobody knows the rate of the TSC, the execution counts as one run. */
static void prepare_runs(TailorPlan* plan) {
  plan->ns_per_cycle = tailor_ns_per_cycle();
  if (!plan->runs)
    plan->runs = MemoryContextAllocExtended(TopMemoryContext, sizeof(*plan->runs), MCXT_ALLOC_NO_OOM);
  if (!plan->runs) return;
  memset(plan->runs, 0, sizeof(*plan->runs));
  plan->runs->size = plan->ns_per_cycle > 0 ? sizeof(*plan->runs) : 0;
}

void tailor_shared_run_end(TailorPlan* plan) {
  if (!plan->shared_run) return;
  tailor_execution_end_runs(plan->shared_run, plan->runs);
  plan->shared_run = 0;
}

static void add_shared(const TailorQuery* open, uint64 rows, bool failed) {
  uint64 now = __rdtsc();
  /* The TSC of another CPU may be behind. */
  double cycles = now > open->began ? (double)(now - open->began) : 0;
  tailor_runs_add(open->plan->runs, (uint64)(cycles * open->plan->ns_per_cycle), rows, failed);
}

static void begin_shared(TailorPlan* plan, QueryDesc* query, uint64 now) {
  uint32 said = shared_labels();
  if (plan->shared_run && (plan->shared_labels != said || now - plan->shared_since > TAILOR_SHARED_CYCLES))
    tailor_shared_run_end(plan);
  if (plan->shared_run) return;
  Labels labels = labels_of((uint64)query->plannedstmt->queryId, NULL, true);
  plan->shared_run = tailor_execution_begin(plan->ids.id, labels.label, labels.count);
  plan->shared_labels = said;
  plan->shared_since = now;
  prepare_runs(plan);
  tailor_session_pump();
}

static uint64_t told_run = 0; /* that workers are told now */

/* SerializeGUCState copies it to the workers. */
static void set_leader(const char* text) {
  (void)set_config_option("tailor.leader", text, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SET, true, 0, false);
}

/* Workers have the text of the whole message, and are not told which part of it is the statement. */
static void tell_workers(const TailorQuery* open, const QueryDesc* query) {
  char name[33];
  tailor_run_name(open->run, name);
  int begin = open->piece.text ? (int)(open->piece.text - query->sourceText) : 0;
  told_run = open->run;
  set_leader(psprintf("%s %d %d", name, begin, open->piece.length));
}

void tailor_run_begin(TailorQuery* open, QueryDesc* query, uint64 now) {
  TailorTrace trace;
  bool traced = tailor_trace_of(&open->piece, &trace);
  /* A user who keeps no trace has no use for an execution of each short statement in it. */
  bool own = traced && trace.sampled;
  bool parallel = query->plannedstmt->parallelModeNeeded;
  open->cycles = 0;
  open->began = now;
  tailor_ticks_begin();
  open->shared = is_short(open->plan) && !own && !parallel && !IsParallelWorker();
  if (open->shared) {
    begin_shared(open->plan, query, now);
    open->run = open->plan->shared_run;
    return;
  }
  Labels labels = labels_of((uint64)query->plannedstmt->queryId, traced ? &trace : NULL, false);
  open->run = tailor_execution_begin(open->plan->ids.id, labels.label, labels.count);
  if (parallel && !IsInParallelMode()) tell_workers(open, query);
  tailor_session_pump();
}

void tailor_run_end(TailorQuery* open, uint64 rows, const char* error) {
  TailorPlan* plan = open->plan;
  double cycles = (double)open->cycles + 1;
  plan->cycles = plan->cycles == 0 ? cycles : plan->cycles * (1 - NEWEST) + cycles * NEWEST;
  if (open->shared) {
    add_shared(open, rows, error != NULL);
    return;
  }
  /* A later statement that is not measured has workers too: they are nobody's. An error takes it back itself.
   */
  if (!error && told_run && open->run == told_run && !IsInParallelMode()) {
    told_run = 0;
    set_leader("");
  }
  tailor_execution_end(open->run, rows, error);
  tailor_session_pump();
}

uint64_t tailor_command_run_begin(uint64_t plan, uint64 query_id, const TailorPiece* piece) {
  TailorTrace trace;
  bool traced = tailor_trace_of(piece, &trace);
  Labels labels = labels_of(query_id, traced ? &trace : NULL, false);
  uint64_t run = tailor_execution_begin(plan, labels.label, labels.count);
  tailor_session_pump();
  return run;
}
