/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libtailor_agent: the library that an engine links, or opens with dlopen, so that Tailor can profile it.
 *
 * Every function here makes these promises to its host:
 *  - It never aborts and never throws. It does not write to the host's standard streams or descriptors. It
 *    does not change how the host handles signals. Limits of the host (ulimit, memory, descriptors) make the
 *    agent smaller, or switch it off; they never make the host fail.
 *  - It does not block. The exceptions say so: tailor_agent_start, tailor_agent_stop, tailor_agent_barrier.
 *    One background thread does all work that may wait. A bounded lock-free queue leads to it. A message is
 *    dropped and counted when the queue is full, the daemon is gone or memory is short
 *    (tailor_agent_get_counters).
 *  - Without a daemon, the cost is one failed connect from time to time. The background thread makes it.
 *  - Arguments are copied before the function returns. The caller keeps ownership of its memory.
 *  - Null and zero handles are accepted and ignored. So the result of a failed creation can be passed to any
 *    function. Pipelines are numbers, not handles: 0 means that the thread is in no pipeline.
 *  - Declarations may be repeated: of threads, components, region kinds that outlive plans, the code of
 *    components, and the names of waits. Their comments say what a second call does.
 *  - Any thread may call any function, unless its comment says otherwise. No function is async-signal-safe,
 *    unless its comment says so.
 *
 * A struct that may grow begins with its size, which the caller sets: sizeof(struct ...). A library that
 * knows more fields does not touch those that the caller lacks. A library that knows fewer ignores the rest.
 * All other structs stay as they are.
 *
 * The agent keeps everything that is live: threads, plans, code objects, kinds, components, executions. It
 * sends them again when a daemon connects. So the daemon can be restarted at any time.
 *
 * Environment: TAILOR_SOCKET overrides the daemon's socket (default /run/tailor/agent.sock).
 * TAILOR_DISABLE=1 switches everything off.
 *
 * Times are raw rdtsc values. On platforms other than Linux on x86-64, every function does nothing.
 */
#ifndef TAILOR_AGENT_H
#define TAILOR_AGENT_H

#include <stddef.h>
#include <stdint.h>
#include <tailor/export.h>
#include <tailor/objects.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The ABI version of this header. tailor_agent_abi_version() gives the version of the library. They fit if
 * the majors are equal and the library's minor is not smaller. */
#define TAILOR_AGENT_ABI_MAJOR 2u
#define TAILOR_AGENT_ABI_MINOR 5u

/* (major << 16) | minor of the loaded library. */
TAILOR_EXPORT uint32_t tailor_agent_abi_version(void);

/* Where the engine keeps the tag while shared code runs. */
enum tailor_tag_strategy {
  TAILOR_TAGS_NONE = 0, /* no tags: call stacks find the owner of shared code */
  TAILOR_TAGS_R15 = 1,  /* register r15, reserved in generated code and in the runtime, as in the paper */
  TAILOR_TAGS_SWIFTSELF = 2,   /* register r13, as LLVM's swiftself argument */
  TAILOR_TAGS_MEMORY_SLOT = 3, /* in memory: tailor_thread_slot() */
};

struct tailor_agent_options {
  size_t size;                /* sizeof(struct tailor_agent_options), so that the struct can grow; not 0 */
  const char* engine_name;    /* for example "weft"; reports show it */
  const char* engine_version; /* may be NULL */
  uint32_t tag_strategy;      /* enum tailor_tag_strategy */
  const char* socket_path;    /* NULL: TAILOR_SOCKET, else the default */
  size_t queue_bytes;         /* most bytes of waiting messages; 0: 64 MiB */
  uint32_t log_records; /* capacity of a thread's activity log: 64 to 65536, made a power of two; 0: 16384 */
  uint32_t flags;       /* sum of enum tailor_agent_flags */
};

enum tailor_agent_flags {
  /* The agent makes no thread. The host calls tailor_agent_pump to send the queued messages. This is for
   * hosts that may have no thread but their own, such as a PostgreSQL backend. */
  TAILOR_AGENT_NO_THREAD = 1,
  /* Only with NO_THREAD. A forked child has an agent at once, with a connection of its own. The first pump
   * makes this connection. The forking thread keeps its slot and its log at their addresses; the log is
   * empty. Plans, code, components and region kinds of the parent are live in the child too. Tags that were
   * made before the fork keep their meaning. Executions and marks are not passed on: the child begins its
   * own. fork() waits for a pump that another thread has begun, for a second at most. */
  TAILOR_AGENT_SURVIVES_FORK = 2,
};

/* Starts the agent of this process: draws the tag key, makes the first arena, and starts the background
 * thread that connects. Blocks for about a millisecond while it makes memory and a thread. It does not wait
 * for the daemon. A process has one agent. A forked child has none until it calls this itself. `options` may
 * be NULL: then all have their defaults.
 *
 * Returns 0 or a negative errno: -EALREADY if the agent runs, -ECANCELED if TAILOR_DISABLE is set, -EINVAL if
 * an option has a value that it cannot have (tailor_agent_notice says which; no option is put right or
 * ignored), -EFBIG if RLIMIT_FSIZE leaves no room for one log, -EAGAIN if no thread can be made, -ENOMEM, and
 * others. After an error every other function does nothing (after -EALREADY the running agent continues). */
TAILOR_EXPORT int tailor_agent_start(const struct tailor_agent_options* options);

/* Ends the agent: sends the queued messages, says goodbye to the daemon and ends the background thread.
 * Blocks for at most `timeout_ms`. Threads keep their slots and logs. The agent can be started again, even if
 * this call ran out of time. */
TAILOR_EXPORT void tailor_agent_stop(uint32_t timeout_ms);

/* For an agent without a thread: connects if it is time, sends queued messages, and reads the daemon's
 * answers. Never blocks, and does a bounded amount of work (up to 256 messages). Returns 1 if more messages
 * wait, 0 if none does, -ECANCELED without an agent, -EALREADY if the agent has a thread, -EBUSY if another
 * thread is pumping. Call it after loading plans or code, after an execution, and a few times a second while
 * the thread works. Queued messages delay, by a second at most, what the daemon reports about this process.
 */
TAILOR_EXPORT int tailor_agent_pump(void);

/* 1 while a daemon has accepted this process, else 0. */
TAILOR_EXPORT int tailor_agent_connected(void);

/* Blocks until the daemon samples this process and has processed everything that was queued before the call,
 * or until `timeout_ms` has passed. If the queue is full, it also waits for room in the queue. Returns 1 if
 * the daemon has processed everything, else 0. No engine needs it. It is for tests, and for programs that
 * must not run before they are sampled. */
TAILOR_EXPORT int tailor_agent_barrier(uint32_t timeout_ms);

/* Counts since the agent was first started. `messages_dropped` never reached a daemon and never will, because
 * the queue was full, memory was short, or they were out of date before a daemon connected. `log_records`
 * counts the records that were written to logs. `connect_error` is no count. It is the errno of the last
 * attempt to reach a daemon, and 0 after an attempt that succeeded. ENOENT and ECONNREFUSED say that no
 * daemon is there, EACCES says that this user may not use its socket. */
struct tailor_agent_counters {
  size_t size; /* sizeof(struct tailor_agent_counters), set by the caller */
  uint64_t messages_queued, messages_sent, messages_dropped, bytes_sent, connects, disconnects, log_records;
  uint64_t connect_error;
};
/* Fills the fields that fit into out->size. All are 0 without an agent. */
TAILOR_EXPORT void tailor_agent_get_counters(struct tailor_agent_counters* out);

/* What the agent noticed about how this process uses it, in English, one sentence or more each, for the
 * engine's own log: an operator's number that no tag can hold, executions that nothing tells the operators
 * of, a file whose compiler uses the tag's register. The daemon hears it too. Returns the one with this
 * index, which counts from 0, or NULL beyond the last. There are few, each comes once in a process, and the
 * texts stay valid. */
TAILOR_EXPORT const char* tailor_agent_notice(uint32_t index);

/* Called by tailor/tag_scope.h when the program starts: the compiler of the source `file` may use the
 * register of this strategy. The text must stay valid. Async-signal-safe before the agent is started. */
TAILOR_EXPORT void tailor_tag_not_kept(uint32_t strategy, const char* file);

/* ---- Threads ------------------------------------------------------------------------------------------ */

/* Registers the calling thread: gives it a slot and an activity log. A second call is cheap and changes
 * nothing. The end of the thread ends its registration. `name` may be NULL. Returns 0 or a negative errno. A
 * thread that was not registered is sampled too; it only has no log. Functions marked [log] register their
 * thread themselves. */
TAILOR_EXPORT int tailor_thread_register(const char* name);

/* A thread of this process that cannot call this library, such as the collector of a virtual machine that
 * hosts the engine. */
struct tailor_other_thread;
/* Registers the thread `tid` (the value of gettid() in that thread) on its behalf. From now on it works for
 * an execution of a plan (0: none) and, within the execution, for an engine component (0: none). Its samples
 * belong to the component if nothing better is known. `name` may be NULL. Returns NULL without an
 * agent, or without memory for its log. Never use this for a thread that calls any function of this library.
 */
TAILOR_EXPORT struct tailor_other_thread* tailor_other_thread_add(uint32_t tid, const char* name,
                                                                  uint64_t execution, uint64_t plan_id,
                                                                  uint32_t component);
/* The thread has ended. */
TAILOR_EXPORT void tailor_other_thread_remove(struct tailor_other_thread* thread);

/* Returns the calling thread's tag slot. With the strategy TAILOR_TAGS_MEMORY_SLOT, write the tag there with
 * a plain 8-byte store (LLVM: atomic monotonic). The slot is valid until the thread ends. NULL without an
 * agent. */
TAILOR_EXPORT uint64_t* tailor_thread_slot(void);

/* ---- Objects: operators that call stacks find -----------------------------------------------------------
 */

/* From now on `objects` (tailor/objects.h) are the operators of the plan whose tag the calling thread has in
 * its slot. Where the tag names an engine component and a sample brings its stack, tailord looks for the
 * innermost function whose first argument is one of these objects: the sample is that operator's
 * (docs/tags.md). This needs BPF, the strategy TAILOR_TAGS_MEMORY_SLOT, and plans whose tags name one level.
 * The memory must stay as it is until the next call or the end of the thread. NULL means none. Returns what
 * the last call gave. */
TAILOR_EXPORT const struct tailor_objects* tailor_thread_objects(const struct tailor_objects* objects);

/* ---- Waits: what a thread waits for, in the engine's own words ----------------------------------------- */

/* From now on `word` says what the calling thread waits for. While the thread waits, the word is a number
 * that the engine chose; otherwise it is 0. tailord reads the word when the thread leaves the CPU. This needs
 * BPF and the strategy TAILOR_TAGS_MEMORY_SLOT. Nothing else reads it. The word must stay valid until the
 * next call or the end of the thread. NULL means that the thread has no such word any more. */
TAILOR_EXPORT void tailor_thread_waits(const uint32_t* word);

struct tailor_wait_name {
  uint32_t number;  /* not 0 */
  const char* name; /* "Lock:transactionid"; cut to 63 bytes */
};
/* Gives reports the names of these numbers: all names at once, and at most 4096. A second call replaces the
 * names of the first. A number without a name is shown as a number. */
TAILOR_EXPORT void tailor_wait_names(const struct tailor_wait_name* names, size_t count);

/* Says that a process of this engine waits for locks that other processes of it hold: a process that waits
 * cannot say it itself. All are named by their pids, as the caller's pid namespace has them, and each needs
 * an agent of its own. At most 16 holders count. `since_tsc` is the rdtsc of when the caller first saw the
 * process wait for these holders. Call it again with the same `since_tsc` as long as that is seen, some times
 * a second.
 */
TAILOR_EXPORT void tailor_blocked(uint32_t pid, uint64_t since_tsc, const uint32_t* holders, size_t count);

/* ---- Stacks: the frame in which a thread left generated code ------------------------------------------- */

/* For engines that keep this frame for their own stack walks, as HotSpot does. From that frame tailord walks
 * on where the native code above it cannot be walked, or needs more stack than a sample brings. */
struct tailor_frame_anchor {
  uint64_t stack_pointer;       /* rsp of the frame; 0 while the thread is in generated code, or in none */
  uint64_t instruction_pointer; /* in the frame's code; 0: it is the word below stack_pointer */
  uint64_t frame_pointer;       /* rbp of the frame; 0: not known */
};
/* From now on `anchor` is that of the calling thread. A BPF program of tailord reads it while the thread is
 * sampled, and nothing else does. The memory must stay readable until the next call or the end of the thread.
 * NULL: the thread has no anchor any more. */
TAILOR_EXPORT void tailor_thread_anchor(const struct tailor_frame_anchor* anchor);

/* ---- Plans and code ------------------------------------------------------------------------------------ */

/* A plan dictionary. It is passed as a serialised tailor.v1.Plan (proto/tailor/v1/dictionary.proto), with the
 * `id`, `slot` and `generation` that tailor_plan_new gave. tailor/dictionary.h builds and loads it without
 * protobuf. C++ engines may use compiler/tagging's DictionaryBuilder instead. */
struct tailor_plan_ids {
  uint64_t id;         /* 0 if the agent is off or 65536 plans are live */
  uint32_t slot;       /* for tags */
  uint32_t generation; /* for tags */
};
TAILOR_EXPORT struct tailor_plan_ids tailor_plan_new(void);
/* Returns 0, -ECANCELED (the agent is off), -EINVAL, -EMSGSIZE (more than 3/8 of the queue's bytes), or
 * -ENOBUFS (the message was dropped and counted). A plan may be loaded again under its id. It then
 * replaces what was known. It must have the same levels, and no level may have fewer components than before;
 * otherwise the daemon refuses it and counts it. */
TAILOR_EXPORT int tailor_plan_load(uint64_t plan_id, const void* plan, size_t size);
/* Later, another plan gets the same slot with the next generation. */
TAILOR_EXPORT void tailor_plan_unload(uint64_t plan_id);

/* Returns the tag for two components (upper, lower) of a plan, in the form in which it is written (see
 * tailor/tag.h). Returns 0, which is no tag, without an agent, and if `upper` is above
 * TAILOR_TAG_COMPONENT_MAX (16383): no tag can hold it. A `lower` above it is left out, so that the tag names
 * the upper component alone. */
TAILOR_EXPORT uint64_t tailor_tag(const struct tailor_plan_ids* plan, uint32_t upper, uint32_t lower);

/* A code object: a serialised tailor.v1.CodeObject whose `id` is from tailor_code_new. Load it once, before
 * its first instruction runs. Its load time is the time of this call. The results are those of
 * tailor_plan_load.
 */
TAILOR_EXPORT uint64_t tailor_code_new(void);
TAILOR_EXPORT int tailor_code_load(uint64_t code_id, const void* code_object, size_t size);
/* The same for code that was loaded at the time `since`, a value of rdtsc. It is for engines that learn late
 * about code that already runs. `since` must not lie before the unloading of the code that had this memory
 * before. Samples are attributed after some tenths of a second; those that were attributed meanwhile do not
 * change. A time in the future counts as now. */
TAILOR_EXPORT int tailor_code_load_since(uint64_t code_id, const void* code_object, size_t size,
                                         uint64_t since);
/* Call this before the memory is used again. Samples that were taken before still find the code. */
TAILOR_EXPORT void tailor_code_unload(uint64_t code_id);

/* ---- Executions ---------------------------------------------------------------------------------------- */

struct tailor_label {
  /* "user", "database", "application", "trace_id" and "span_id" (hexadecimal digits, as in a traceparent),
   * "query" (its text), or the engine's own */
  const char* key;
  const char* value;
};

/* A run of the plan `plan_id` begins. Returns its handle for the log, or 0 without an agent. Labels beyond
 * the 64th are left out. Keys are cut to 4 KiB and values to 1 MiB. Texts need not be UTF-8: other bytes
 * arrive as '?'. */
TAILOR_EXPORT uint64_t tailor_execution_begin(uint64_t plan_id, const struct tailor_label* labels,
                                              size_t count);
/* The run ended and returned `rows` rows. UINT64_MAX means that the rows were not counted. `error` is NULL if
 * the run succeeded. */
TAILOR_EXPORT void tailor_execution_end(uint64_t execution, uint64_t rows, const char* error);

/* ---- Short runs that share one execution ---- */

/* An execution costs two messages. An engine whose runs are very short may let many runs of one plan share
 * one execution for a while. It adds each run to a struct tailor_runs, and ends the execution with
 * tailor_execution_end_runs. Reports then count each run, with its own elapsed time. Without that, they take
 * the execution for one long run. */

/* The label that such an execution has from its begin. While it runs, the daemon knows by it that the
 * execution is no slow run. */
#define TAILOR_RUNS_LABEL "runs"
#define TAILOR_RUNS_LABEL_VALUE "short runs of this plan, added up"

/* Times from 1.1^n ns up to 1.1^(n+1) ns are in bucket n; 0 is in the first. */
#define TAILOR_ELAPSED_BUCKETS 470

struct tailor_runs {
  size_t size;   /* sizeof(struct tailor_runs), set by the caller; all else is 0 before the first run */
  uint64_t runs; /* how many ended, with an error or without */
  uint64_t failed;
  uint64_t rows;       /* of all runs together; UINT64_MAX: not counted */
  uint64_t elapsed_ns; /* of all runs together */
  uint64_t shortest_ns, longest_ns;
  uint64_t buckets[TAILOR_ELAPSED_BUCKETS]; /* runs by elapsed time */
};
/* Adds a run that took `elapsed_ns` ns and returned `rows` rows. `failed` is not 0 if it ended with an error.
 * The struct is the caller's: this touches no agent, and one thread at a time may call it for a struct. Does
 * nothing if `runs` is NULL, or `size` is smaller than that of this header. */
TAILOR_EXPORT void tailor_runs_add(struct tailor_runs* runs, uint64_t elapsed_ns, uint64_t rows, int failed);
/* The execution ended, and stands for these runs. If there is no run in them, the execution counts as no run.
 * With NULL or a smaller struct it counts as one run whose rows are not known. */
TAILOR_EXPORT void tailor_execution_end_runs(uint64_t execution, const struct tailor_runs* runs);

/* Returns where this execution keeps its tags. As a rule this is the strategy given to tailor_agent_start.
 * The daemon's operator may want a share of the executions without tags, to measure their cost. For such an
 * execution the answer is TAILOR_TAGS_NONE. An engine that can leave out its tags or slot stores for one
 * execution asks this when the execution begins. The answer does not change during the execution. It is
 * TAILOR_TAGS_NONE for handle 0 and without an agent.
 *
 * Until an engine asks, all of its executions have tags: one that never asks would keep them in any case. So
 * such an engine calls this once with handle 0 after tailor_agent_start, and its first execution counts, too.
 */
TAILOR_EXPORT uint32_t tailor_execution_tag_strategy(uint64_t execution);
/* Writes the 128-bit identity of an execution. It is all zero for handle 0 and without an agent. */
TAILOR_EXPORT void tailor_execution_id(uint64_t execution, uint8_t out[16]);

/* ---- Activity of the calling thread [log]: each call writes a record with rdtsc, wait-free ------------- */

TAILOR_EXPORT void tailor_mark_execution_begin(uint64_t execution, uint64_t plan_id);
TAILOR_EXPORT void tailor_mark_execution_end(uint64_t execution);
TAILOR_EXPORT void tailor_mark_pipeline_begin(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_pipeline_end(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_morsel_begin(uint32_t pipeline, uint64_t first_tuple, uint64_t tuples);
TAILOR_EXPORT void tailor_mark_morsel_end(uint32_t pipeline);
TAILOR_EXPORT void tailor_mark_component_begin(uint32_t component);
TAILOR_EXPORT void tailor_mark_component_end(uint32_t component);
/* Iteration `number` of a loop begins on this thread. `component` is the component of the plan's top level
 * that loops; 0 is ignored. The iteration ends when the next one begins, or when the thread's part of the
 * execution ends. */
TAILOR_EXPORT void tailor_mark_iteration(uint32_t component, uint64_t number);

/* ---- Fibers: work that moves between threads ---------------------------------------------------------- */

/* An open mark. Only this library reads it. */
struct tailor_saved_mark {
  uint64_t id, plan_id;
  uint32_t kind, zero;
};
/* Marks beyond these are not kept: their ends do nothing later. */
#define TAILOR_SAVED_MARKS 16
/* What a fiber works on while no thread runs it. */
struct tailor_saved_work {
  size_t size;  /* sizeof(struct tailor_saved_work), set by the caller; the rest is 0 before the first use */
  uint64_t tag; /* of the thread's slot, with the strategy TAILOR_TAGS_MEMORY_SLOT */
  uint32_t count;    /* of `marks`, outermost first */
  uint32_t left_out; /* how many inner ones were not kept */
  struct tailor_saved_mark marks[TAILOR_SAVED_MARKS];
};
/* Takes off the calling thread what it works on: all marks that are open (of executions, pipelines, morsels
 * and components), and the tag in its slot. The thread then works for nothing. Each mark ends in its log. An
 * engine that runs fibers calls this on the thread that a fiber leaves. A thread that has no slot works for
 * nothing. Does nothing if `work` is NULL, or `size` is smaller than that of this header. Wait-free. [log] */
TAILOR_EXPORT void tailor_work_save(struct tailor_saved_work* work);
/* Puts it on the calling thread, which may be another one: the marks begin again, within those that are open,
 * and the tag is in the slot. A morsel begins without its range of tuples, and an iteration that was begun is
 * not known until the next mark of one. `work` stays as it is. The rest is as with tailor_work_save. */
TAILOR_EXPORT void tailor_work_restore(const struct tailor_saved_work* work);

/* ---- Engine components: work that is no operator (parse, optimise, compile, schedule, memory ...) ------ */

/* Declares a component. Returns its number for the marks, which counts from 1, or 0 without an agent. The
 * same name gives the same number again. A process has at most 1024; after that the result is 0. */
TAILOR_EXPORT uint32_t tailor_component_declare(const char* name);
/* Samples in code at [begin, end) belong to the component if nothing better is known. If several calls have
 * the same `begin`, the last one counts. */
TAILOR_EXPORT void tailor_component_code(uint32_t component, const void* begin, const void* end);

/* ---- Memory regions ------------------------------------------------------------------------------------ */

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
  uint64_t plan_id;       /* plan of the owner; 0 if the region outlives plans (a column) */
  uint32_t level;         /* level of the owner, and */
  uint32_t component;     /* its id in that plan; 0 if there is none */
  uint32_t element_bytes; /* 0 if the region has no elements */
};
/* Declares a kind of region. Returns its number for the marks, or 0 without an agent. A kind that outlives
 * plans gets the same number when it is declared again (this holds for the first 8192 of them). A kind of a
 * plan gets a new number with each call. */
TAILOR_EXPORT uint32_t tailor_region_kind_declare(const struct tailor_region_kind* kind);
TAILOR_EXPORT void tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes); /* [log] */
TAILOR_EXPORT void tailor_region_remove(const void* base);                                    /* [log] */

#ifdef __cplusplus
}
#endif
#endif
