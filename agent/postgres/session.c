/* SPDX-License-Identifier: Apache-2.0 */
#include "postgres.h"

#include "session.h"

#include <link.h>
#include <x86intrin.h>

#include "access/parallel.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "postmaster/bgworker.h"
#include "storage/fd.h"
#include "storage/ipc.h"

#include "phases.h"
#include "settings.h"
#include "slot.h"
#include "utf8.h"
#include "waits.h"

/* Cycles of the TSC between two pumps: some tens of milliseconds. */
#define PUMP_CYCLES UINT64CONST(100000000)
/* Marks between two looks of the daemon (50 ms) have to fit: some 100,000 a second. */
#define LOG_RECORDS 8192
#define QUEUE_BYTES (1024 * 1024)
/* The socket and the memory of the marks. */
#define DESCRIPTORS 2

static enum { NOT_STARTED, RUNNING, OUT_OF_USE } state = NOT_STARTED;
bool tailor_listened = false;
static uint64_t pumped = 0; /* TSC */

#define SESSION_COMPONENT "session: protocol, parser, analysis, rewriter and all else"

/* Where nothing better is known, code of the server and of the C library works for the session. */
static int declare_code(struct dl_phdr_info* object, size_t size, void* session) {
  const char* name = object->dlpi_name;
  bool ours = !name || name[0] == '\0' || strstr(name, "/libc.so") || strstr(name, "/libm.so") ||
              strstr(name, "/libpthread") || strstr(name, "vdso") || strstr(name, "/tailor_pg");
  if (!ours) return 0;
  for (int i = 0; i < object->dlpi_phnum; i++) {
    const ElfW(Phdr)* part = &object->dlpi_phdr[i];
    if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
    const char* begin = (const char*)(uintptr_t)(object->dlpi_addr + part->p_vaddr);
    tailor_component_code(*(uint32_t*)session, begin, begin + part->p_memsz);
  }
  return 0;
}

/* As pg_stat_activity shows it. The server calls all background workers the same. */
static const char* type_of_process(void) {
  bool has_type = MyBackendType == B_BG_WORKER && MyBgworkerEntry && MyBgworkerEntry->bgw_type[0] != '\0';
  return has_type ? tailor_shared_utf8(MyBgworkerEntry->bgw_type) : GetBackendTypeDesc(MyBackendType);
}

/* What this process does where nothing better is known. */
static const char* rest_of_process(void) {
  if (IsParallelWorker()) return "parallel worker: its start, its end and all outside of nodes";
  if (MyBackendType == B_BACKEND) return SESSION_COMPONENT;
  /* Those that have transactions come here, too: autovacuum, replication, other extensions. */
  return psprintf("%s: all outside of statements", type_of_process());
}

static void declare_components(void) {
  uint32_t session = tailor_component_declare(rest_of_process());
  dl_iterate_phdr(declare_code, &session);
}

/* Says goodbye. From here on nothing is marked and no slot written. */
static void end_session(int code, Datum argument) {
  if (state != RUNNING) return;
  state = OUT_OF_USE;
  tailor_listened = false;
  tailor_use_slot(NULL);
  tailor_agent_stop(0);
}

static bool start_agent(void) {
  struct tailor_agent_options options = {
      .size = sizeof(options),
      .engine_name = "PostgreSQL",
      .engine_version = PG_VERSION,
      .tag_strategy = TAILOR_TAGS_MEMORY_SLOT,
      .socket_path = tailor_socket && *tailor_socket ? tailor_socket : NULL,
      .queue_bytes = QUEUE_BYTES,
      .log_records = LOG_RECORDS,
      .flags = TAILOR_AGENT_NO_THREAD};
  return tailor_agent_start(&options) == 0 && tailor_thread_register("backend") == 0 && tailor_thread_slot();
}

static void start_session(void) {
  state = OUT_OF_USE; /* unless all of it succeeds; never tried again */
  for (int i = 0; i < DESCRIPTORS; i++) {
    if (AcquireExternalFD()) continue;
    while (i-- > 0) ReleaseExternalFD();
    return;
  }
  if (!start_agent()) {
    for (int i = 0; i < DESCRIPTORS; i++) ReleaseExternalFD();
    return;
  }
  state = RUNNING;
  (void)tailor_execution_tag_strategy(0); /* we ask, from the first execution on */
  tailor_use_slot(tailor_thread_slot());
  declare_components();
  tailor_declare_phases();
  tailor_tell_waits();
  on_proc_exit(end_session, (Datum)0);
}

void tailor_session_pump(void) {
  struct tailor_agent_counters counters = {.size = sizeof(counters)};
  if (state != RUNNING) return;
  tailor_agent_pump();
  pumped = __rdtsc();
  tailor_listened = tailor_agent_connected() != 0;
  if (tailor_listened) return;
  /* Connected and not answered yet: what is said now will be heard. */
  tailor_agent_get_counters(&counters);
  tailor_listened = counters.connects > counters.disconnects;
}

bool tailor_session_live(uint64 now) {
  if (!tailor_enabled || state == OUT_OF_USE) return false;
  if (state == NOT_STARTED) start_session();
  if (now - pumped >= PUMP_CYCLES) tailor_session_pump();
  return tailor_listened;
}
