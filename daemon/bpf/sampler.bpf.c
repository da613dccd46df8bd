/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes the samples of chosen processes: runs at every overflow of the perf events it is attached to, drops
 * what belongs to other processes, and writes the rest with its user registers into a ring.
 *
 * perf hides the callee-saved registers of a sample in kernel mode. They were saved when user code entered
 * the kernel, and the program reads them there: so the tag register is known in kernel mode, too. Where a
 * sample interrupts the entry itself before they are saved (possible for non-maskable interrupts only), they
 * are those of the entry before.
 */
#include "daemon/bpf/kernel_types.h"
#include "daemon/bpf/sampler_abi.h"

char LICENSE[] SEC("license") = "GPL";

/* Wake the reader at this many bytes in the ring. */
const volatile __u64 wakeup_bytes = 1 << 17;

struct {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, TAILOR_BPF_PROCESSES);
  __type(key, __u32);
  __type(value, struct tailor_bpf_process);
} processes SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
  __uint(max_entries, TAILOR_BPF_RECORDINGS);
  __type(key, __u32);
  __type(value, struct tailor_bpf_counts);
} counts SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 19); /* the daemon says how many */
} records SEC(".maps");

/* Inlined: the context of the program may only be read member by member. */
static __always_inline void copy_registers(const struct pt_regs* from, struct tailor_bpf_sample* to) {
  to->has_registers = 1;
  to->compat = from->cs == 0x23; /* __USER32_CS */
  to->registers[0] = from->rax;
  to->registers[1] = from->rbx;
  to->registers[2] = from->rcx;
  to->registers[3] = from->rdx;
  to->registers[4] = from->rsi;
  to->registers[5] = from->rdi;
  to->registers[6] = from->rbp;
  to->registers[7] = from->rsp;
  to->registers[8] = from->rip;
  to->registers[9] = from->r8;
  to->registers[10] = from->r9;
  to->registers[11] = from->r10;
  to->registers[12] = from->r11;
  to->registers[13] = from->r12;
  to->registers[14] = from->r13;
  to->registers[15] = from->r14;
  to->registers[16] = from->r15;
}

SEC("perf_event")
int take_sample(struct bpf_perf_event_data* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 pid = id >> 32;
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || (process->flags & TAILOR_BPF_WAIT_EXEC)) return 0;
  __u32 recording = process->recording;
  struct tailor_bpf_counts* count = bpf_map_lookup_elem(&counts, &recording);
  if (!count) return 0;
  struct tailor_bpf_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
  if (!sample) {
    __sync_fetch_and_add(&count->lost, 1);
    return 0;
  }
  /* A sample may interrupt another one of this CPU. */
  __sync_fetch_and_add(&count->taken, 1);
  sample->time = bpf_ktime_get_ns();
  sample->period = ctx->sample_period;
  sample->ip = ctx->regs.rip;
  sample->address = ctx->addr;
  sample->pid = pid;
  sample->tid = (__u32)id;
  sample->recording = recording;
  sample->cpu = bpf_get_smp_processor_id();
  sample->source = bpf_get_attach_cookie(ctx);
  sample->kernel = (ctx->regs.cs & 3) == 0;
  sample->has_registers = 0;
  if (sample->kernel) {
    struct pt_regs user;
    const void* saved = (const void*)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (bpf_probe_read_kernel(&user, sizeof user, saved) == 0 && (user.cs & 3) == 3)
      copy_registers(&user, sample);
  } else {
    copy_registers(&ctx->regs, sample);
  }
  __u64 waiting = bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA);
  bpf_ringbuf_submit(sample, waiting >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  return 0;
}

/* A child belongs to the recording before it runs. */
SEC("raw_tp/sched_process_fork")
int follow_fork(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* parent = (struct task_struct*)ctx->args[0];
  struct task_struct* child = (struct task_struct*)ctx->args[1];
  __u32 from = BPF_CORE_READ(parent, tgid);
  __u32 to = BPF_CORE_READ(child, tgid);
  if (from == to) return 0;
  struct tailor_bpf_process* known = bpf_map_lookup_elem(&processes, &from);
  if (!known || !(known->flags & TAILOR_BPF_FOLLOW)) return 0;
  struct tailor_bpf_process added = *known;
  added.start = BPF_CORE_READ(child, start_boottime);
  if (bpf_map_update_elem(&processes, &to, &added, BPF_ANY) == 0) return 0;
  struct tailor_bpf_counts* count = bpf_map_lookup_elem(&counts, &added.recording);
  if (count) __sync_fetch_and_add(&count->unfollowed, 1);
  return 0;
}

SEC("raw_tp/sched_process_exec")
int begin_at_exec(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  __u32 pid = BPF_CORE_READ(task, tgid);
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (process) process->flags &= ~TAILOR_BPF_WAIT_EXEC;
  return 0;
}

/* Its number can be another's from now on. The daemon removes what it added itself. */
SEC("raw_tp/sched_process_free")
int forget_child(struct bpf_raw_tracepoint_args* ctx) {
  struct task_struct* task = (struct task_struct*)ctx->args[0];
  __u32 pid = BPF_CORE_READ(task, tgid);
  if (BPF_CORE_READ(task, pid) != pid) return 0;
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (process && process->start && process->start == BPF_CORE_READ(task, start_boottime)) {
    bpf_map_delete_elem(&processes, &pid);
  }
  return 0;
}
