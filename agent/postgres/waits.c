/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What this backend waits for, as pg_stat_activity says it: the server keeps a number for that in a word of
 * memory, and tailord reads the word when the backend leaves the CPU. The numbers differ between versions, so
 * each session tells what this server calls them. Those that extensions made are shown as numbers.
 */
#include "postgres.h"

#include "waits.h"

#include "storage/ipc.h"
#include "storage/lock.h"
#include "storage/lwlock.h"
#include "tailor/agent.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#define MOST_NAMES 1024
/* What the server calls a number that it does not know. */
#define UNKNOWN "unknown wait event"

typedef struct {
  uint32 class;
  int end; /* above all events of the class; below 0: they end with the first unknown one */
} WaitClass;

static const WaitClass kClasses[] = {
    {0x01000000U, LWTRANCHE_FIRST_USER_DEFINED}, /* LWLock */
    {0x03000000U, LOCKTAG_LAST_TYPE + 1},        /* Lock */
    {0x04000000U, 1},                            /* BufferPin */
    {0x05000000U, -1},                           /* Activity */
    {0x06000000U, -1},                           /* Client */
    {0x07000000U, 1},                            /* Extension */
    {0x08000000U, -1},                           /* IPC */
    {0x09000000U, -1},                           /* Timeout */
    {0x0A000000U, -1},                           /* IO */
};

static struct tailor_wait_name names[MOST_NAMES];
static int known = 0;

static bool add_name(uint32 number) {
  const char* event = pgstat_get_wait_event(number);
  if (event && strcmp(event, UNKNOWN) == 0) return false;
  /* Numbers that are not in use have no name, or one in brackets. */
  if (!event || event[0] == '<' || event[0] == '?') return true;
  const char* name = psprintf("%s:%s", pgstat_get_wait_event_type(number), event);
#ifdef TAILOR_TWIN_WRONG_WAITS
  number++;
#endif
  names[known].number = number;
  names[known].name = MemoryContextStrdup(TopMemoryContext, name);
  known++;
  return true;
}

/* Once a server where it is preloaded: its children inherit the table. */
void tailor_learn_waits(void) {
  if (known > 0) return;
  for (int i = 0; i < lengthof(kClasses); i++) {
    int end = kClasses[i].end < 0 ? MOST_NAMES : kClasses[i].end;
    for (int event = 0; event < end && known < MOST_NAMES; event++) {
      if (!add_name(kClasses[i].class | (uint32)event)) break;
    }
  }
}

/* The word belongs to another backend as soon as this one has given its place in shared memory back. */
static void end_waits(int code, Datum argument) {
  tailor_thread_waits(NULL);
}

void tailor_tell_waits(void) {
  tailor_learn_waits();
  tailor_wait_names(names, (size_t)known);
  tailor_thread_waits(my_wait_event_info);
  on_shmem_exit(end_waits, (Datum)0);
}
