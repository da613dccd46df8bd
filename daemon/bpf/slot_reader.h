/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How the BPF programs read the slot of the thread that they interrupt (tailor/thread_area.h). Nothing is
 * paged in.
 */
#ifndef TAILOR_BPF_SLOT_READER_H
#define TAILOR_BPF_SLOT_READER_H

#include "daemon/bpf/kernel_types.h"
#include "daemon/bpf/sampler_abi.h"
#include "tailor/thread_area.h"

/* Of a slot, what is read. */
#define SLOT_END (__builtin_offsetof(struct tailor_slot, states) + 2 * sizeof(struct tailor_thread_state))

/* Where the thread keeps the address of its slot. */
static __always_inline const void* slot_place(const struct tailor_bpf_process* process) {
  struct task_struct* task = bpf_get_current_task_btf();
  unsigned long base = BPF_CORE_READ(task, thread.fsbase);
  return (const void*)(base + process->slot_offset);
}

/* The thread's number in its own pid namespace. */
static __always_inline __u32 own_number(void) {
  const struct pid* pid = BPF_CORE_READ(bpf_get_current_task_btf(), thread_pid);
  const unsigned int level = BPF_CORE_READ(pid, level);
  return BPF_CORE_READ(pid, numbers[level].nr);
}

/* Copies the thread's slot. What the thread keeps may name the slot of another one: a worker of io_uring has
 * its creator's thread registers, and the memory of a thread that ends is given to the next. Returns 0 or why
 * not. */
static __always_inline __u64 copy_slot(const struct tailor_bpf_process* process, struct tailor_slot* copy) {
  const struct tailor_slot* slot = 0;
  if (bpf_probe_read_user(&slot, sizeof slot, slot_place(process)) != 0) return TAILOR_BPF_UNREAD_SLOT;
  if (!slot) return TAILOR_BPF_NO_SLOT;
  if (bpf_probe_read_user(copy, SLOT_END, slot) != 0) return TAILOR_BPF_UNREAD_SLOT;
  return copy->tid == own_number() ? 0 : TAILOR_BPF_NO_SLOT;
}

static __always_inline void say_no_state(struct tailor_bpf_state* state, __u64 why) {
  state->execution = TAILOR_NO_STATE;
  state->plan = why;
  state->work = 0;
}

/* Which of the two copies counts stands beside them, and the thread is stopped here: what was read is whole.
 */
static __always_inline void take_state(const struct tailor_slot* copy, struct tailor_bpf_state* state) {
  if (copy->state != TAILOR_AREA_LIVE) {
    say_no_state(state, TAILOR_BPF_UNREAD_SLOT);
    return;
  }
  const struct tailor_thread_state* current = copy->state_of & 1 ? &copy->states[1] : &copy->states[0];
  state->execution = current->execution;
  state->plan = current->plan;
  state->work = current->work;
}

/* What the programs take from a slot, all by one read of it. 0: there is nothing. */
struct slot_words {
  __u64 tag, objects_at, waits_at, anchor_at, execution;
  struct tailor_bpf_state state;
};

static __always_inline void read_slot(const struct tailor_bpf_process* process, struct slot_words* words) {
  struct tailor_slot copy;
  words->tag = words->objects_at = words->waits_at = words->anchor_at = words->execution = 0;
  say_no_state(&words->state, TAILOR_BPF_NOT_ASKED);
  if (!(process->flags & TAILOR_BPF_HAS_SLOTS)) return;
  const __u32 has_state = process->flags & TAILOR_BPF_HAS_STATE;
  const __u64 why_not = copy_slot(process, &copy);
  if (why_not) {
    if (has_state) say_no_state(&words->state, why_not);
    return;
  }
  if (process->flags & TAILOR_BPF_TAG_SLOT) {
    words->tag = copy.tag;
    words->objects_at = copy.objects_at;
  }
  words->waits_at = copy.waits_at;
  words->anchor_at = copy.anchor_at;
  words->execution = copy.execution;
  if (has_state) take_state(&copy, &words->state);
}

#endif
