/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtailor_agent: what an engine links, or opens with dlopen, to be profiled by Tailor.
 *
 * What every function here promises to its host:
 *  - It never aborts, throws, writes to the host's standard streams or descriptors, or changes how the host
 * handles signals. Limits of the host (ulimit, memory, descriptors) make the agent smaller or absent, never
 * the host fail.
 *  - It does not block, except the three that say so: tailor_agent_start, tailor_agent_stop,
 * tailor_agent_barrier. Work that may wait is done by one background thread, reached through a bounded
 * lock-free queue. When the queue is full, the daemon is gone or memory is short, a message is dropped and
 * counted (tailor_agent_get_counters).
 *  - Without a daemon the cost is one failed connect now and then, made by the background thread.
 *  - What is passed in is copied before the function returns; the caller keeps ownership of its memory.
 *  - Null and zero handles are accepted and ignored: what a failed creation returned can be passed to any
 * function.
 *  - Functions may be called from any thread unless said otherwise. None is async-signal-safe unless said so.
 *
 * Structs that may grow begin with their size, set by the caller: sizeof(struct ...). A library that knows
 * more fields leaves those alone that the caller does not have, one that knows fewer ignores the rest.
 *
 * What is live (threads, plans, code objects, kinds, components, executions) is kept by the agent and sent
 * again when a daemon (re)connects, so the daemon can be restarted at any time.
 *
 * Environment: TAILOR_SOCKET overrides the daemon's socket (default /run/tailor/agent.sock);
 * TAILOR_DISABLE=1 switches everything off.
 *
 * Times are raw rdtsc values. On platforms other than Linux on x86-64 every function is a no-op.
 */
#ifndef TAILOR_AGENT_H
#define TAILOR_AGENT_H

#include <stddef.h>
#include <stdint.h>
#include <tailor/export.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of this header; tailor_agent_abi_version() gives that of the library. They fit if the majors are equal and
 * the library's minor is not smaller. */
#define TAILOR_AGENT_ABI_MAJOR 2u
#define TAILOR_AGENT_ABI_MINOR 1u

/* (major << 16) | minor of the loaded library. */
TAILOR_EXPORT uint32_t tailor_agent_abi_version(void);

/* Where the engine keeps the tag while shared code runs. */
enum tailor_tag_strategy {
  TAILOR_TAGS_NONE = 0,        /* no tags: call stacks decide shared code */
  TAILOR_TAGS_R15 = 1,         /* register r15, reserved in generated code and runtime (the paper's way) */
  TAILOR_TAGS_SWIFTSELF = 2,   /* register r13, through LLVM's swiftself argument */
  TAILOR_TAGS_MEMORY_SLOT = 3, /* tailor_thread_slot() */
};

struct tailor_agent_options {
  size_t size;                /* sizeof(struct tailor_agent_options): lets the struct grow */
  const char* engine_name;    /* e.g. "weft"; shown in reports */
  const char* engine_version; /* may be NULL */
  uint32_t tag_strategy;      /* enum tailor_tag_strategy */
  const char* socket_path;    /* NULL: TAILOR_SOCKET, else the default */
  size_t queue_bytes;         /* bound on waiting messages; 0: 64 MiB */
  uint32_t log_records;       /* capacity of a thread's activity log, a power of two up to 65536; 0: 16384 */
  uint32_t flags;             /* enum tailor_agent_flags, added up */
};

enum tailor_agent_flags {
  /* The agent makes no thread. The host sends what is queued with tailor_agent_pump. For hosts that may have
   * no thread but their own, such as a PostgreSQL backend. */
  TAILOR_AGENT_NO_THREAD = 1,
  /* Only with NO_THREAD. A forked child has an agent at once, with a connection of its own (the first pump
   * makes it). The forking thread keeps its slot and log at their addresses, the log empty. Plans, code,
   * components and region kinds of the parent are live in the child too, and tags made before the fork mean
   * the same. Executions and marks are not: the child begins its own. */
  TAILOR_AGENT_SURVIVES_FORK = 2,
};

/* Blocks while it makes memory and a thread, a millisecond or so; it does not wait for the daemon.
 * Starts the agent of this process: draws the tag key, makes the first arena, starts the background thread
 * that connects. Returns 0, or a negative errno (-EALREADY if started, -ECANCELED if TAILOR_DISABLE is set,
 * -EINVAL, -EFBIG where RLIMIT_FSIZE
 * leaves no room for one log, -EAGAIN where no thread is to be had, -ENOMEM, ...) after which every other
 * function does nothing. One agent a process. A forked child has none until it calls this itself. */
TAILOR_EXPORT int tailor_agent_start(const struct tailor_agent_options* options);

/* Blocks for at most `timeout_ms` while queued messages go out. Ends the agent: tells the daemon goodbye and
 * ends the background thread. Threads keep their slots and logs. The agent can be started again, also after a
 * stop that ran out of time. */
TAILOR_EXPORT void tailor_agent_stop(uint32_t timeout_ms);

/* For an agent without a thread: connects if it is time to, sends what is queued, hears what the daemon says.
 * Never blocks, and does a bounded amount of work (up to 256 messages). Returns 1 if more waits to be sent, 0
 * if not, -ECANCELED without an agent, -EALREADY if the agent has a thread, -EBUSY if another thread pumps
 * right now. Call it after loading plans or code and after an execution, and a few times a second while the
 * thread works: what is queued holds back, for a second at most, what the daemon reports of this process. */
TAILOR_EXPORT int tailor_agent_pump(void);

/* 1 while a daemon has accepted this process, else 0. */
TAILOR_EXPORT int tailor_agent_connected(void);

/* Blocks until the daemon has processed everything queued before the call and is sampling this process, or
 * `timeout_ms` has passed. 1 if it has, else 0. For engines' start-up and tests, never needed. */
TAILOR_EXPORT int tailor_agent_barrier(uint32_t timeout_ms);

/* Since the agent was first started. `messages_dropped` never reached a daemon and never will: the queue was
 * full, memory was short, or they were over before a daemon was there. `log_records` were written to logs. */
struct tailor_agent_counters {
  size_t size; /* sizeof(struct tailor_agent_counters), set by the caller */
  uint64_t messages_queued, messages_sent, messages_dropped, bytes_sent, connects, disconnects, log_records;
};
/* Fills the fields that `out` has. All are 0 without an agent. */
TAILOR_EXPORT void tailor_agent_get_counters(struct tailor_agent_counters* out);

/* ---- Threads ------------------------------------------------------------------------------------------ */

/* Registers the calling thread: gives it a slot and an activity log. Idempotent and cheap when repeated;
 * undone when the thread ends. `name` may be NULL. Returns 0 or a negative errno. A thread that was not
 * registered is still sampled; it only has no log. Functions marked [log] register their thread themselves.
 */
TAILOR_EXPORT int tailor_thread_register(const char* name);

/* A thread of this process that cannot say anything by itself, such as the collector of a virtual machine
 * that hosts the engine. */
struct tailor_other_thread;
/* Registers the thread `tid` (what gettid() gives there) for it, and says that from now on it works for an
 * execution of a plan (0: none) and, within it, for an engine component (0: none), whose its samples are
 * wherever nothing better is known. `name` may be NULL. NULL without an agent or without memory for its log.
 * Never for a thread that calls any function of this library. */
TAILOR_EXPORT struct tailor_other_thread* tailor_other_thread_add(uint32_t tid, const char* name,
                                                                  uint64_t execution, uint64_t plan_id,
                                                                  uint32_t component);
/* It has ended. */
TAILOR_EXPORT void tailor_other_thread_remove(struct tailor_other_thread* thread);

/* The calling thread's tag slot: write the tag there with a plain 8-byte store (LLVM: atomic monotonic) where
 * the strategy is TAILOR_TAGS_MEMORY_SLOT. Valid until the thread ends. NULL without an agent. */
TAILOR_EXPORT uint64_t* tailor_thread_slot(void);

/* ---- Plans and code ------------------------------------------------------------------------------------ */

/* A plan dictionary, handed over as a serialised tailor.v1.Plan (proto/tailor/v1/dictionary.proto) with `id`,
 * `slot` and `generation` as given by tailor_plan_new. tailor/dictionary.h
 * builds and loads it without protobuf; C++ engines may use compiler/tagging's DictionaryBuilder. */
struct tailor_plan_ids {
  uint64_t id;         /* 0 if the agent is off, or 65536 plans are live */
  uint32_t slot;       /* for tags */
  uint32_t generation; /* for tags */
};
TAILOR_EXPORT struct tailor_plan_ids tailor_plan_new(void);
/* 0, -ECANCELED (agent off), -EINVAL, -EMSGSIZE (over 3/8 of the queue's bytes), or -ENOBUFS: dropped,
 * counted. */
TAILOR_EXPORT int tailor_plan_load(uint64_t plan_id, const void* plan, size_t size);
/* Its slot is given again to another plan later, under the next generation. */
TAILOR_EXPORT void tailor_plan_unload(uint64_t plan_id);

/* The tag of components (upper, lower) of a plan, ready to be written (see tailor/tag.h); 0 without an agent.
 */
TAILOR_EXPORT uint64_t tailor_tag(const struct tailor_plan_ids* plan, uint32_t upper, uint32_t lower);

/* A code object, as a serialised tailor.v1.CodeObject whose `id` is from tailor_code_new. Load it before its
 * first instruction runs; its load time is the moment of this call. Returns as tailor_plan_load does. */
TAILOR_EXPORT uint64_t tailor_code_new(void);
TAILOR_EXPORT int tailor_code_load(uint64_t code_id, const void* code_object, size_t size);
/* The same for code that has been there since `since`, a value of rdtsc: for engines that hear late of code
 * that runs already. Not before the code whose memory it took was unloaded. Samples that were looked at
 * meanwhile (after some tenths of a second) stay as they are. A time to come counts as now. */
TAILOR_EXPORT int tailor_code_load_since(uint64_t code_id, const void* code_object, size_t size,
                                         uint64_t since);
/* Before its memory is reused. Samples already taken still find it. */
TAILOR_EXPORT void tailor_code_unload(uint64_t code_id);

/* ---- Executions ---------------------------------------------------------------------------------------- */

struct tailor_label {
  const char*
      key; /* "user", "database", "application", "trace_id", "query" (its text), or the engine's own */
  const char* value;
};

/* A run of `plan_id` begins. Returns its handle for the log, 0 without an agent. Labels beyond the 64th are
 * left out, keys are cut to 4 KiB and values to 1 MiB. Texts need not be UTF-8: other bytes arrive as '?'. */
TAILOR_EXPORT uint64_t tailor_execution_begin(uint64_t plan_id, const struct tailor_label* labels,
                                              size_t count);
/* It ended; `rows` were returned; `error` NULL if it succeeded. */
TAILOR_EXPORT void tailor_execution_end(uint64_t execution, uint64_t rows, const char* error);
/* Where this execution keeps its tags: the strategy given to tailor_agent_start, or TAILOR_TAGS_NONE for an
 * execution that the daemon wants without them, to measure what they cost (a share of the executions, set by
 * the daemon's operator). An engine that can leave out its tags or slot stores for one execution asks this at
 * its begin. The answer stays the same for the life of the execution. TAILOR_TAGS_NONE for 0 or without an
 * agent. */
TAILOR_EXPORT uint32_t tailor_execution_tag_strategy(uint64_t execution);
/* The 128-bit identity of an execution; all zero for 0 or without an agent. */
TAILOR_EXPORT void tailor_execution_id(uint64_t execution, uint8_t out[16]);

/* ---- Activity of the calling thread [log]: a record with rdtsc each, ~20 ns, wait-free -------------------
 */

TAILOR_EXPORT void tailor_mark_execution_begin(uint64_t execution, uint64_t plan_id);
TAILOR_EXPORT void tailor_mark_execution_end(uint64_t execution);
TAILOR_EXPORT void tailor_mark_pipeline_begin(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_pipeline_end(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_morsel_begin(uint32_t pipeline, uint64_t first_tuple, uint64_t tuples);
TAILOR_EXPORT void tailor_mark_morsel_end(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_component_begin(uint32_t component);
TAILOR_EXPORT void tailor_mark_component_end(uint32_t component);
/* Iteration `number` of the loop of `component` (of the plan's top level) begins on this thread; it ends with
 * the next one, or with the thread's part of the execution. */
TAILOR_EXPORT void tailor_mark_iteration(uint32_t component, uint64_t number);

/* ---- Engine components: work that is no operator (parse, optimise, compile, schedule, memory ...) --------
 */

/* Declares one; returns its number (from 1) for the marks, 0 without an agent. Declaring a name again gives
 * the same number. At most 1024; then 0. */
TAILOR_EXPORT uint32_t tailor_component_declare(const char* name);
/* Says that code in [begin, end) belongs to the component wherever nothing better is known. Said again of the
 * same `begin`, the last call counts. */
TAILOR_EXPORT void tailor_component_code(uint32_t component, const void* begin, const void* end);

/* ---- Memory regions --------------------------------------------------------------------------------------
 */

enum tailor_region_role {
  TAILOR_REGION_OTHER = 0,
  TAILOR_REGION_COLUMN,
  TAILOR_REGION_HASH_TABLE,
  TAILOR_REGION_DIRECTORY,
  TAILOR_REGION_CHUNK,
  TAILOR_REGION_HISTOGRAM,
  TAILOR_REGION_PARTITION_BUFFER,
  TAILOR_REGION_SORT_RUN,
  TAILOR_REGION_OUTPUT,
};

struct tailor_region_kind {
  size_t size;            /* sizeof(struct tailor_region_kind) */
  const char* name;       /* "lineitem.l_orderkey", "join build #3" */
  uint32_t role;          /* enum tailor_region_role */
  uint64_t plan_id;       /* owner: 0 if it outlives plans (a column) */
  uint32_t level;         /* owner's level and */
  uint32_t component;     /* id in that plan, 0 if none */
  uint32_t element_bytes; /* 0 if not made of elements */
};
/* Declares what regions are; returns its number for the marks, 0 without an agent. Declaring a kind that
 * outlives plans again gives the same number (of the first 8192 of them); a kind of a plan gets a new number
 * with each call. */
TAILOR_EXPORT uint32_t tailor_region_kind_declare(const struct tailor_region_kind* kind);
TAILOR_EXPORT void tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes); /* [log] */
TAILOR_EXPORT void tailor_region_remove(const void* base);                                    /* [log] */

#ifdef __cplusplus
}
#endif
#endif
