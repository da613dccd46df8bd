/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who holds the locks that backends wait for. A backend that waits cannot say it, as no hook is called there.
 * So a process of its own looks, some times a second. It reads what all backends wait for, which costs next
 * to nothing, and asks the lock manager (pg_blocking_pids) for those that wait for a lock alone. Asking stops
 * all who take locks for a moment, so the pause behind it is a hundred times as long.
 */
#include "postgres.h"

#include "locks.h"

#include <signal.h>
#include <x86intrin.h>

#include "miscadmin.h"
#include "portability/instr_time.h"
#include "postmaster/bgworker.h"
#include "postmaster/interrupt.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "storage/proc.h"
#include "utils/array.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "session.h"
#include "settings.h"
#include "tailor/agent.h"

#define LOOK_MS 100
/* The longest pause, whatever asking took. */
#define LONGEST_MS 600000
/* How many times as long the pause after asking is. */
#define ASKING_PART 100
#define MOST_WAITS 64
#define MOST_HOLDERS 16
/* The class of what is waited for, in wait_event_info. */
#define CLASS_MASK 0xFF000000U

PGDLLEXPORT void tailor_pg_watch_locks(Datum argument);

/* A backend that waits for the same holders since some time. */
typedef struct {
  int pid;
  uint64 start; /* PGPROC.waitStart: of this wait */
  uint64 since; /* TSC: seen first with these holders */
  int count;
  uint32 holders[MOST_HOLDERS];
  bool seen; /* in this look */
} Wait;

static Wait waits[MOST_WAITS];
static int wait_count = 0;

static bool waits_for_lock(const PGPROC* proc) {
  uint32 event = *(const volatile uint32*)&proc->wait_event_info;
  return (event & CLASS_MASK) == PG_WAIT_LOCK;
}

static int by_number(const void* a, const void* b) {
  uint32 left = *(const uint32*)a, right = *(const uint32*)b;
  return (left > right) - (left < right);
}

/* In one order, each once: the server may say them in another order the next time. Prepared transactions hold
 * locks, too, and have no process. */
static int holders_of(int pid, uint32* holders) {
  ArrayType* array = DatumGetArrayTypeP(DirectFunctionCall1(pg_blocking_pids, Int32GetDatum(pid)));
  const int32* found = (const int32*)ARR_DATA_PTR(array);
  int all = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array)), count = 0, kept = 0;
  for (int i = 0; i < all && count < MOST_HOLDERS; i++) {
    if (found[i] > 0) holders[count++] = (uint32)found[i];
#ifdef TAILOR_TWIN_WRONG_HOLDERS
    if (count > 0) holders[count - 1] = (uint32)MyProcPid;
#endif
  }
  qsort(holders, (size_t)count, sizeof(holders[0]), by_number);
  for (int i = 0; i < count; i++) {
    if (i == 0 || holders[i] != holders[i - 1]) holders[kept++] = holders[i];
  }
  return kept;
}

static bool is_same(const Wait* a, const Wait* b) {
  return a->pid == b->pid && a->start == b->start && a->count == b->count &&
         memcmp(a->holders, b->holders, (size_t)a->count * sizeof(a->holders[0])) == 0;
}

/* The wait as it is known, or as a new one; NULL: there is no room. */
static Wait* known(const Wait* found) {
  for (int i = 0; i < wait_count; i++) {
    if (is_same(&waits[i], found)) return &waits[i];
  }
  if (wait_count == MOST_WAITS) return NULL;
  waits[wait_count] = *found;
  return &waits[wait_count++];
}

static void look_at(PGPROC* proc) {
  Wait found = {.pid = proc->pid, .since = __rdtsc()};
  if (found.pid == 0 || !waits_for_lock(proc)) return;
  found.start = pg_atomic_read_u64(&proc->waitStart);
  found.count = holders_of(found.pid, found.holders);
  /* Its wait may be over, and another one may have begun. */
  if (found.count == 0 || proc->pid != found.pid || pg_atomic_read_u64(&proc->waitStart) != found.start)
    return;
  Wait* wait = known(&found);
  if (!wait) return;
  wait->seen = true;
  tailor_blocked((uint32)wait->pid, wait->since, wait->holders, (size_t)wait->count);
}

static void forget_unseen(void) {
  int kept = 0;
  for (int i = 0; i < wait_count; i++) {
    if (!waits[i].seen) continue;
    waits[kept] = waits[i];
    waits[kept++].seen = false;
  }
  wait_count = kept;
}

/* How many backends were asked for. */
static int look(void) {
  int asked = 0;
  for (uint32 i = 0; i < ProcGlobal->allProcCount && asked < MOST_WAITS; i++) {
    PGPROC* proc = &ProcGlobal->allProcs[i];
    if (!waits_for_lock(proc)) continue;
    look_at(proc);
    asked++;
  }
  forget_unseen();
  return asked;
}

/* Until the next look, in ms. */
static long look_and_tell(MemoryContext context) {
  if (!tailor_session_live(__rdtsc())) return LOOK_MS;
  MemoryContext before = MemoryContextSwitchTo(context);
  instr_time begin, spent;
  INSTR_TIME_SET_CURRENT(begin);
  int asked = look();
  INSTR_TIME_SET_CURRENT(spent);
  MemoryContextSwitchTo(before);
  MemoryContextReset(context);
  if (asked == 0) return LOOK_MS;
  tailor_session_pump();
  INSTR_TIME_SUBTRACT(spent, begin);
  int64 pause_ms = (int64)INSTR_TIME_GET_MICROSEC(spent) * ASKING_PART / 1000;
  return (long)Min(Max(pause_ms, LOOK_MS), LONGEST_MS);
}

void tailor_pg_watch_locks(Datum argument) {
  pqsignal(SIGTERM, SignalHandlerForShutdownRequest);
  pqsignal(SIGHUP, SignalHandlerForConfigReload);
  BackgroundWorkerUnblockSignals();
  MemoryContext context = AllocSetContextCreate(TopMemoryContext, "tailor locks", ALLOCSET_DEFAULT_SIZES);
  while (!ShutdownRequestPending) {
    long ms = look_and_tell(context);
    (void)WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH, ms, PG_WAIT_EXTENSION);
    ResetLatch(MyLatch);
    CHECK_FOR_INTERRUPTS();
    if (ConfigReloadPending) {
      ConfigReloadPending = false;
      ProcessConfigFile(PGC_SIGHUP);
    }
  }
  proc_exit(0);
}

void tailor_register_lock_watch(void) {
  BackgroundWorker worker = {.bgw_flags = BGWORKER_SHMEM_ACCESS,
                             .bgw_start_time = BgWorkerStart_ConsistentState,
                             .bgw_restart_time = 60};
  if (!tailor_watch_locks) return;
  strlcpy(worker.bgw_name, "tailor lock watch", sizeof(worker.bgw_name));
  strlcpy(worker.bgw_type, "tailor lock watch", sizeof(worker.bgw_type));
  strlcpy(worker.bgw_library_name, "tailor_pg", sizeof(worker.bgw_library_name));
  strlcpy(worker.bgw_function_name, "tailor_pg_watch_locks", sizeof(worker.bgw_function_name));
  RegisterBackgroundWorker(&worker);
}
