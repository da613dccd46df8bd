/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The kernel's types and helpers that a BPF program uses. Of the kernel's own structures, the few members it
 * looks at: where they lie is filled in when the program is loaded, from the running kernel's BTF (CO-RE), so
 * only names and types count here.
 */
#ifndef TAILOR_BPF_KERNEL_TYPES_H
#define TAILOR_BPF_KERNEL_TYPES_H

/* In this order: the helpers need the types before them. */
/* clang-format off */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct thread_struct {
  unsigned long fsbase;
};

/* As large as the kernel's: an array of them is gone through by its size. */
struct upid {
  int nr;
  void* ns;
};

struct pid {
  unsigned int level;
  struct upid numbers[1];
};

struct task_struct {
  struct thread_struct thread;
  struct pid* thread_pid;
  int pid;
  int tgid;
  __u64 start_boottime;
};

#pragma clang attribute pop

#endif
