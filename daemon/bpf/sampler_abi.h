/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0 */
/*
 * What the BPF program and the daemon share: the values of its maps and the records it writes. Both are built
 * together, so there is no version.
 */
#ifndef TAILOR_BPF_SAMPLER_ABI_H
#define TAILOR_BPF_SAMPLER_ABI_H

#include <linux/types.h>

#define TAILOR_BPF_RECORDINGS 1024 /* at a time */
#define TAILOR_BPF_PROCESSES 16384 /* registered ones and their children */

#define TAILOR_BPF_CODE_PAGES 65536 /* of generated code; beyond, code counts as unknown */
#define TAILOR_BPF_STACK_BYTES 4096 /* of one sample, a power of two */

/* tailor_bpf_process.flags */
#define TAILOR_BPF_FOLLOW 1u        /* its forked children belong to the recording too */
#define TAILOR_BPF_WAIT_EXEC 2u     /* nothing is taken before it executes a program */
#define TAILOR_BPF_STACK_ALWAYS 4u  /* every sample brings its stack */
#define TAILOR_BPF_STACK_UNKNOWN 8u /* those do that are of unknown code and have no valid tag */
#define TAILOR_BPF_TAG_R13 16u      /* where the process keeps its tags */
#define TAILOR_BPF_TAG_R15 32u
#define TAILOR_BPF_REGISTERED 64u /* it has an agent: without one no stack could tell anything */

#define TAILOR_BPF_TAG_SLOT 128u /* in memory, in the thread's slot */

#define TAILOR_BPF_HELD 256u /* nothing is taken until the daemon says so */

#define TAILOR_BPF_HAS_SLOTS 512u /* `slot_offset` is known, whether tags are there or not */

#define TAILOR_BPF_HAS_STATE 1024u /* these slots say for whom the thread works */

/* Nothing is taken of such a process. */
#define TAILOR_BPF_SILENT (TAILOR_BPF_WAIT_EXEC | TAILOR_BPF_HELD)

/* All that an agent has said */
#define TAILOR_BPF_AGENT                                                                   \
  (TAILOR_BPF_REGISTERED | TAILOR_BPF_TAG_R13 | TAILOR_BPF_TAG_R15 | TAILOR_BPF_TAG_SLOT | \
   TAILOR_BPF_HAS_SLOTS | TAILOR_BPF_HAS_STATE)

/* Value of the map of processes; the key is the process id (tgid) in the first pid namespace. */
struct tailor_bpf_process {
  __u64 start; /* of a child found by the program: its start, ns of CLOCK_BOOTTIME; 0: added by the daemon */
  __u64 tag_key;
  __s64 slot_offset; /* from fs base to the address of the thread's slot */
  __u32 recording;
  __u32 flags;
  __u32 drawn_ppm; /* how many of a million executions are sampled, 0: all (tailor/draw.h) */
  __u32 zero;
};

/* Key of the map of pages that hold code of plans, and no other that was registered. */
struct tailor_bpf_page {
  __u32 pid;
  __u32 zero;
  __u64 page; /* address >> 12 */
};

/* Value of the map of CPUs, a cache line each. The daemon maps it. */
struct tailor_bpf_cpu {
  __u64 hits;    /* samples of recorded processes, written by the program */
  __u32 watched; /* by the daemon: say when a recorded thread comes to this CPU */
  __u32 wanted;  /* by the program: one came; the daemon takes it back */
  __u64 zero[6];
};

/* Value of the map of recordings, per CPU. */
struct tailor_bpf_counts {
  __u64 taken;
  __u64 summed;       /* of these added up */
  __u64 stacks;       /* of these with their stack */
  __u64 lost;         /* no room in the ring, or its lock was held by what the sample interrupted */
  __u64 unfollowed;   /* children there was no room for in the map of processes */
  __u64 not_drawn;    /* samples of executions that are not drawn: dropped */
  __u64 not_drawn_ns; /* CPU time that those of timers stand for */
};

/* For whom the thread works, by its slot: a tailor_thread_state, or why there is none. */
struct tailor_bpf_state {
  __u64 execution; /* TAILOR_NO_STATE: there is none */
  __u64 plan;      /* then one of these */
  __u64 work;
};
#define TAILOR_BPF_NOT_ASKED 0 /* the process is none whose slots have it */
#define TAILOR_BPF_NO_SLOT 1
#define TAILOR_BPF_UNREAD_SLOT 2 /* its memory is not resident, or it is none of a thread that lives */

/* Registers in the order of asm/perf_regs.h without segments and flags: AX BX CX DX SI DI BP SP IP R8 .. R15.
 */
#define TAILOR_BPF_REGISTERS 17

/* One sample. */
struct tailor_bpf_sample {
  __u64 time; /* CLOCK_MONOTONIC, ns: BPF has no other clock that fits */
  __u64 period;
  __u64 ip;
  __u64 address; /* of the access, for events that have one */
  __u32 pid, tid;
  __u32 recording;
  __u32 cpu;
  __u16 source;
  __u8 kernel; /* taken in kernel mode: `registers` are those that user code entered the kernel with */
  __u8 compat; /* the user code is 32-bit */
  __u32 has_registers;
  __u64 registers[TAILOR_BPF_REGISTERS];
  __u64 slot_tag;  /* the word in the thread's memory slot, 0: none, or it cannot be read */
  __u64 waits_for; /* of a thread that leaves the CPU: the word at tailor_slot.waits_at, 0: as above */
  struct tailor_bpf_state state;
};

/* tailor_bpf_sample.source of what is no sample, but the slot of a thread that leaves the CPU */
#define TAILOR_BPF_SWITCH 0xffff

/* Samples that are added up: those of one thread at one instruction under one tag, in one mode, for one plan,
 * pipeline and component. Executions follow each other too fast for sums of their own: the last one stands
 * for all of them. */
struct tailor_bpf_sum_key {
  __u32 recording;
  __u32 pid, tid;
  __u16 source;
  __u8 kernel;        /* as in tailor_bpf_sample */
  __u8 has_registers; /* the two below are known */
  __u64 user_ip;
  __u64 tag;                     /* the word where the process keeps its tags */
  struct tailor_bpf_state state; /* with TAILOR_BPF_SOME_EXECUTION in the place of any */
};
#define TAILOR_BPF_SOME_EXECUTION 1

struct tailor_bpf_sum {
  __u64 samples;
  __u64 weight; /* their periods */
  __u64 last;   /* CLOCK_MONOTONIC, ns, of one of the last */
  __u64 ip;     /* of that one, as what follows */
  __u64 execution;
  __u32 cpu;
  __u32 zero;
};

#define TAILOR_BPF_SUMS 32768 /* at a time; samples beyond are written one by one */

/* One sample with its stack, from the stack pointer up. */
struct tailor_bpf_stack_sample {
  struct tailor_bpf_sample sample;
  __u64 stack_bytes; /* that could be read */
  __u8 stack[TAILOR_BPF_STACK_BYTES];
};

/* The same, of a thread that told of its objects (tailor/objects.h): what follows its header there. */
#define TAILOR_BPF_OBJECTS 127
#define TAILOR_BPF_OBJECT_STACK_BYTES 8192 /* the function that decides may have called deep ones */
struct tailor_bpf_object_sample {
  struct tailor_bpf_sample sample;
  __u64 stack_bytes;
  __u8 stack[TAILOR_BPF_OBJECT_STACK_BYTES];
  __u32 objects; /* how many there are, 0 if they could not be read */
  __u32 method;
  __u64 object[TAILOR_BPF_OBJECTS];
};

/* The same, of a thread that left generated code in a frame above its stack pointer (tailor_frame_anchor) and
 * tells of no objects. Its stack also from the word below that frame up; where that lies in the piece before,
 * from the end of that piece. */
struct tailor_bpf_anchor {
  __u64 stack_pointer, instruction_pointer, frame_pointer;
};
struct tailor_bpf_anchored_sample {
  struct tailor_bpf_stack_sample whole;
  struct tailor_bpf_anchor anchor;
  __u64 upper_at;
  __u64 upper_bytes; /* that could be read */
  __u8 upper[TAILOR_BPF_STACK_BYTES];
};

#endif
