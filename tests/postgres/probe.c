// SPDX-License-Identifier: Apache-2.0
// tailor_pg_probe: functions that know which plan node evaluates them, for tests of tailor_pg.
//
//   probe(k, x)        returns x. Checks that the slot names a node whose expressions hold probe(k, ...)
//   burn(x, turns)     returns x, after this many turns of a loop, about 1 ns each
//   burnt_ns()         the CPU time that went into burn() since the last call
//   stolen_ns()        the time since the last call in which burn() had a CPU that the host did not run: the
//                      thread's clock leaves it out, and a timer does not
//
// Which nodes may evaluate probe(k, ...) is read from the text form of each plan node when a query starts: it
// knows nothing of wrappers. Counts are in shared memory, so that workers' are there too.
#include "postgres.h"

#include <fcntl.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

#include "access/parallel.h"
#include "access/xact.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "storage/shmem.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

PG_MODULE_MAGIC;

#define MOST_PROBES 64
#define MOST_NODES 2048

typedef struct {
  pg_atomic_uint64 right, wrong, untagged, unknown, worker;
  pg_atomic_uint64 burnt_ns;  // CPU time within burn(), in all processes
  pg_atomic_uint64 stolen_ns;
  pg_atomic_uint64 first_wrong;  // k << 32 | node
} Shared;

static Shared* shared = NULL;
static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;
static int running = 0;  // what the planner evaluates is no node's
static shmem_request_hook_type next_request = NULL;
static shmem_startup_hook_type next_startup = NULL;

// By k: the nodes of the query that started last with it.
static uint8 expected[MOST_PROBES][MOST_NODES / 8];
static bool known[MOST_PROBES];

static int (*slot_node)(void) = NULL;

// ---- What the plan says ----

static bool is_probe(Oid function) {
  char* name = get_func_name(function);
  return name && strncmp(name, "probe", 5) == 0;
}

// The k of each probe(k, ...) in the text form of a node.
static void note_probes(const char* text, int node, bool* seen) {
  static const char kCall[] = "{FUNCEXPR :funcid ";
  for (const char* at = strstr(text, kCall); at; at = strstr(at + 1, kCall)) {
    Oid function = (Oid)strtoul(at + strlen(kCall), NULL, 10);
    const char* value = strstr(at, ":constvalue 4 [ ");
    if (!value || !is_probe(function)) continue;
    int k = atoi(value + strlen(":constvalue 4 [ "));
    if (k < 0 || k >= MOST_PROBES || node < 0 || node >= MOST_NODES) continue;
    if (!seen[k]) memset(expected[k], 0, sizeof(expected[k]));
    seen[k] = known[k] = true;
    expected[k][node / 8] |= (uint8)(1 << node % 8);
  }
}

typedef struct {
  bool* seen;
  int heap;  // the Bitmap Heap Scan above, for nodes that are measured there
} Search;

static void* without(void** place) {
  void* was = *place;
  *place = NULL;
  return was;
}

// The node's own fields as text, without its inputs.
static char* own_text(Plan* plan) {
  Plan *left = without((void**)&plan->lefttree), *right = without((void**)&plan->righttree);
  void** list = NULL;
  switch (nodeTag(plan)) {
    case T_Append:
      list = (void**)&((Append*)plan)->appendplans;
      break;
    case T_MergeAppend:
      list = (void**)&((MergeAppend*)plan)->mergeplans;
      break;
    case T_BitmapAnd:
      list = (void**)&((BitmapAnd*)plan)->bitmapplans;
      break;
    case T_BitmapOr:
      list = (void**)&((BitmapOr*)plan)->bitmapplans;
      break;
    case T_SubqueryScan:
      list = (void**)&((SubqueryScan*)plan)->subplan;
      break;
    case T_CustomScan:
      list = (void**)&((CustomScan*)plan)->custom_plans;
      break;
    default:
      break;
  }
  void* inputs = list ? without(list) : NULL;
  char* text = nodeToString(plan);
  if (list) *list = inputs;
  plan->lefttree = left;
  plan->righttree = right;
  return text;
}

static bool search(PlanState* node, void* context) {
  Search here = *(Search*)context;
  if (!node) return false;
  Plan* plan = node->plan;
  bool above = IsA(plan, BitmapIndexScan) || IsA(plan, BitmapAnd) || IsA(plan, BitmapOr);
  note_probes(own_text(plan), above ? here.heap : plan->plan_node_id, here.seen);
  if (IsA(plan, BitmapHeapScan)) here.heap = plan->plan_node_id;
  return planstate_tree_walker(node, search, &here);
}

static void on_start(QueryDesc* query, int flags) {
  if (next_start)
    next_start(query, flags);
  else
    standard_ExecutorStart(query, flags);
  bool seen[MOST_PROBES] = {false};
  Search from = {seen, -1};
  MemoryContext caller = MemoryContextSwitchTo(query->estate->es_query_cxt);
  search(query->planstate, &from);
  MemoryContextSwitchTo(caller);
}

#if PG_VERSION_NUM >= 180000
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 rows
#define RUN_ARGUMENTS query, direction, rows
#else
#define RUN_PARAMETERS QueryDesc *query, ScanDirection direction, uint64 rows, bool once
#define RUN_ARGUMENTS query, direction, rows, once
#endif

static void on_run(RUN_PARAMETERS) {
  running++;
  PG_TRY();
  {
    if (next_run)
      next_run(RUN_ARGUMENTS);
    else
      standard_ExecutorRun(RUN_ARGUMENTS);
  }
  PG_FINALLY();
  {
    running--;
  }
  PG_END_TRY();
}

// ---- What the slot says ----

static void count(pg_atomic_uint64* counter) {
  pg_atomic_fetch_add_u64(counter, 1);
  if (IsParallelWorker()) pg_atomic_fetch_add_u64(&shared->worker, 1);
}

PG_FUNCTION_INFO_V1(pg_probe);
Datum pg_probe(PG_FUNCTION_ARGS) {
  int k = PG_GETARG_INT32(0);
  if (!slot_node)
    slot_node = (int (*)(void))load_external_function("tailor_pg", "tailor_pg_slot_node", true, NULL);
  int node = slot_node();
  if (running == 0) PG_RETURN_DATUM(PG_GETARG_DATUM(1));
  if (k < 0 || k >= MOST_PROBES || !known[k]) {
    count(&shared->unknown);
  } else if (node < 0 || node >= MOST_NODES) {
    count(&shared->untagged);
  } else if (expected[k][node / 8] & 1 << node % 8) {
    count(&shared->right);
  } else {
    count(&shared->wrong);
    uint64 nothing = 0;
    pg_atomic_compare_exchange_u64(&shared->first_wrong, &nothing, (uint64)k << 32 | (uint32)node);
  }
  PG_RETURN_DATUM(PG_GETARG_DATUM(1));
}

PG_FUNCTION_INFO_V1(pg_probe_counts);
Datum pg_probe_counts(PG_FUNCTION_ARGS) {
  uint64 wrong = pg_atomic_read_u64(&shared->first_wrong);
  char* text =
      psprintf("right=" UINT64_FORMAT " wrong=" UINT64_FORMAT " untagged=" UINT64_FORMAT
               " unknown=" UINT64_FORMAT " worker=" UINT64_FORMAT " k=%d node=%d slot=%d",
               pg_atomic_exchange_u64(&shared->right, 0), pg_atomic_exchange_u64(&shared->wrong, 0),
               pg_atomic_exchange_u64(&shared->untagged, 0), pg_atomic_exchange_u64(&shared->unknown, 0),
               pg_atomic_exchange_u64(&shared->worker, 0), (int)(wrong >> 32), (int)(uint32)wrong,
               slot_node ? slot_node() : -1);
  pg_atomic_write_u64(&shared->first_wrong, 0);
  PG_RETURN_TEXT_P(cstring_to_text(text));
}

// ---- CPU time ----

static int64 cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (int64)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64 wall_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64)now.tv_sec * 1000000000 + now.tv_nsec;
}

// How long this process has waited for a CPU.
static int64 waited_ns(void) {
  static int file = -1;
  char text[128] = "";
  if (file < 0) file = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  if (pread(file, text, sizeof(text) - 1, 0) <= 0) return 0;
  char* second = strchr(text, ' ');
  return second ? strtoll(second, NULL, 10) : 0;
}

// Fixed work, so that what it costs does not depend on who else runs.
PG_FUNCTION_INFO_V1(pg_burn);
Datum pg_burn(PG_FUNCTION_ARGS) {
  int64 turns = PG_GETARG_INT32(1), waited = waited_ns(), wall = wall_ns(), begin = cpu_ns();
  uint64 x = (uint64)PG_GETARG_INT32(0) | 1;
  for (int64 i = 0; i < turns; i++) {
    x ^= x << 13;
    x ^= x >> 7;
    x ^= x << 17;
    __asm__ volatile("" : "+r"(x));
  }
  int64 burnt = cpu_ns() - begin;
  int64 stolen = wall_ns() - wall - burnt - (waited_ns() - waited);
  if (shared == NULL)
    PG_RETURN_INT32(PG_GETARG_INT32(0));  // loaded without shared_preload_libraries: nothing is counted
  pg_atomic_fetch_add_u64(&shared->burnt_ns, (uint64)burnt);
  if (stolen > 0) pg_atomic_fetch_add_u64(&shared->stolen_ns, (uint64)stolen);
  PG_RETURN_INT32(PG_GETARG_INT32(0));
}

PG_FUNCTION_INFO_V1(pg_burnt_ns);
Datum pg_burnt_ns(PG_FUNCTION_ARGS) {
  PG_RETURN_INT64((int64)pg_atomic_exchange_u64(&shared->burnt_ns, 0));
}

PG_FUNCTION_INFO_V1(pg_stolen_ns);
Datum pg_stolen_ns(PG_FUNCTION_ARGS) {
  PG_RETURN_INT64((int64)pg_atomic_exchange_u64(&shared->stolen_ns, 0));
}

// ---- Waits ----

// Waits as an extension does that has a wait event of its own.
PG_FUNCTION_INFO_V1(pg_wait_for);
Datum pg_wait_for(PG_FUNCTION_ARGS) {
  pgstat_report_wait_start((uint32)PG_GETARG_INT32(0));
  pg_usleep(PG_GETARG_INT32(1) * 1000L);
  pgstat_report_wait_end();
  PG_RETURN_INT32(0);
}

// ---- Shared memory ----

static void on_request(void) {
  if (next_request) next_request();
  RequestAddinShmemSpace(sizeof(Shared));
}

static void on_startup(void) {
  bool found;
  if (next_startup) next_startup();
  shared = ShmemInitStruct("tailor_pg_probe", sizeof(Shared), &found);
  if (found) return;
  pg_atomic_uint64* words = (pg_atomic_uint64*)shared;
  for (size_t i = 0; i < sizeof(Shared) / sizeof(*words); i++) pg_atomic_init_u64(&words[i], 0);
}

PGDLLEXPORT void _PG_init(void);
void _PG_init(void) {
  next_request = shmem_request_hook;
  shmem_request_hook = on_request;
  next_startup = shmem_startup_hook;
  shmem_startup_hook = on_startup;
  next_start = ExecutorStart_hook;
  ExecutorStart_hook = on_start;
  next_run = ExecutorRun_hook;
  ExecutorRun_hook = on_run;
}
