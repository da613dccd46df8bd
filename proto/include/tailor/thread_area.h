/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * The memory an engine shares with the daemon: arenas of thread areas, each a tag slot and an activity log.
 *
 * An arena is a memfd sealed with F_SEAL_SHRINK|F_SEAL_GROW that the agent owns and writes; the daemon maps
 * it read-only and trusts nothing in it. Layout, little endian, fixed by `version`:
 *
 *   arena:   tailor_arena_header (4096 bytes), then `area_count` areas of `area_size` bytes
 *   area:    tailor_slot (128 bytes: two cache lines, so that no neighbour's prefetch shares it),
 *            tailor_log_header (128 bytes), `log_capacity` records of 32 bytes
 *
 * The log is a ring with one producer, the area's thread. It never waits: a reader that falls behind by
 * more than the capacity sees from `head` how many records it lost.
 */
#ifndef TAILOR_THREAD_AREA_H
#define TAILOR_THREAD_AREA_H

#include <stdint.h>

#include "tailor/objects.h"

#define TAILOR_ARENA_MAGIC UINT64_C(0x414E4552414C4154) /* "TALARENA" */
#define TAILOR_ARENA_VERSION 1u

struct tailor_arena_header {
  uint64_t magic;
  uint32_t version;
  uint32_t area_count;
  uint32_t area_size;    /* bytes: 256 + log_capacity * 32 */
  uint32_t log_capacity; /* records, a power of two */
  /* Agent-wide state, meaningful in the first arena (index 0) only. A call that sends something counts it in
   * `queued` before it returns; the agent counts it in `settled` once it lies in the socket (or needs no
   * sending). So: read rdtsc T, then `queued`; once `settled` has reached that number and what lies in the
   * socket then was read, everything said in calls that returned before T is known. While a new connection is
   * brought up to date `settled` is 0. Both only grow otherwise. */
  uint64_t messages_queued;
  uint64_t messages_settled;
  uint64_t messages_dropped; /* never reached a daemon: queue full, memory short, over before one was there */
  /* Of `queued`: those that the agent has taken from its queue. Only grows, also while a new connection is
   * brought up to date. So what a process that ends has not sent is queued - taken. Agents that do not know
   * it leave it 0: there, `settled` says the same but for that time */
  uint64_t messages_taken;
  uint8_t reserved[4096 - 56];
};

enum tailor_area_state {
  TAILOR_AREA_FREE = 0,
  TAILOR_AREA_LIVE = 1,   /* `tid` runs with this area */
  TAILOR_AREA_CLOSED = 2, /* the thread ended; its log may still hold unread records, and stays as it is when
                             another thread takes the area: `head` never goes back */
};

/* For whom a thread works, by the marks that are open. */
struct tailor_thread_state {
  uint64_t execution; /* its handle, 0: outside any */
  uint64_t plan;      /* of the execution */
  uint64_t
      work; /* pipeline << 32 | component, 0: outside any. One word, so that one store changes it whole */
};
/* In the place of a word of a state: there is no state. No handle and no plan has this number. */
#define TAILOR_NO_STATE UINT64_MAX

/* One per thread. `tag` is the tag where the strategy is "memory slot", and may be kept as a copy elsewhere.
 */
struct tailor_slot {
  uint64_t tag;
  uint32_t state; /* enum tailor_area_state */
  uint32_t tid;   /* in the engine's pid namespace */
  uint32_t use;   /* counts the threads that had this area, from 1. A new thread first writes its
                     TAILOR_LOG_THREAD_BEGIN, then use = 0, tid, use, state */
  uint32_t zero;
  uint64_t waits_at;   /* address in the engine's memory of a uint32 that says what the thread waits for while
                          it waits; 0: there is none */
  uint64_t objects_at; /* address in the engine's memory of a struct tailor_objects; 0: there is none */
  /* Says which executions are drawn, where a share of them is sampled: while the thread works for one, the
     first 8 bytes of its identity (a daemon that draws by them drops the thread's samples early); 0: outside,
     or nothing is to be dropped here. Set behind the TAILOR_LOG_EXECUTION_BEGIN, taken back before the _END
   */
  uint64_t execution;
  uint64_t anchor_at; /* address in the engine's memory of the thread's tailor_frame_anchor (tailor/agent.h);
                         0: there is none */
  /* For whom the thread works: states[state_of & 1]. The other one is idle. A new execution or plan is
     written there, and then one store of state_of, which grows by 1, makes it count. Code that interrupts the
     thread on its own CPU sees one whole state at any instruction. A reader on another CPU reads state_of
     again behind the state, and reads both again if it has changed. Hello.slot_state says that the agent
     keeps this; else it is 0 */
  uint64_t state_of;
  struct tailor_thread_state states[2];
  uint8_t reserved[128 - 112];
};

struct tailor_log_header {
  uint64_t head; /* records ever written; store-released after the record */
  uint8_t reserved[128 - 8];
};

enum tailor_log_kind {
  TAILOR_LOG_NONE = 0,
  TAILOR_LOG_EXECUTION_BEGIN = 1, /* a = execution handle, b = plan id: this thread starts to work for it. The
                                     component it was begun in pauses until it ends */
  TAILOR_LOG_EXECUTION_END = 2,   /* a = execution handle */
  TAILOR_LOG_PIPELINE_BEGIN = 3,  /* id = pipeline id in the plan */
  TAILOR_LOG_PIPELINE_END = 4,
  TAILOR_LOG_MORSEL_BEGIN = 5, /* id = pipeline id, a = first tuple, b = tuple count. The work of operators
                                  begins: the component it was begun in pauses until it ends */
  TAILOR_LOG_MORSEL_END = 6,
  TAILOR_LOG_COMPONENT_BEGIN = 7, /* id = engine component; nests */
  TAILOR_LOG_COMPONENT_END = 8,
  TAILOR_LOG_REGION_ADD = 9,     /* id = region kind declared over the socket, a = base address, b = bytes */
  TAILOR_LOG_REGION_REMOVE = 10, /* a = base address */
  TAILOR_LOG_ITERATION = 11,     /* id = component, a = number of the iteration that starts */
  TAILOR_LOG_THREAD_BEGIN = 12,  /* id = tid in the engine's pid namespace, a = slot.use: what follows is of
                                    this  thread. First record of every thread. */
};

struct tailor_log_record {
  uint64_t tsc; /* raw rdtsc */
  uint16_t kind;
  uint16_t reserved;
  uint32_t id;
  uint64_t a;
  uint64_t b;
};

#define TAILOR_LOG_RECORD_SIZE 32u
#define TAILOR_AREA_LOG_OFFSET 256u /* of the first record from the start of the area */

#endif
