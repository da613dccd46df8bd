/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Takes the samples of chosen processes: runs at every overflow of the perf events it is attached to, drops
 * what belongs to other processes, and writes the rest with its user registers into a ring.
 *
 * perf hides the callee-saved registers of a sample in kernel mode. They were saved when user code entered
 * the kernel, and the program reads them there: so the tag register is known in kernel mode, too. Where a
 * sample interrupts the entry itself before they are saved (possible for non-maskable interrupts only), they
 * are those of the entry before.
 *
 * Where the process keeps its tags in memory, the program reads that of the thread it interrupts: the word at
 * fs base + offset is its address. Nothing is paged in, and what is read counts only if its check fits. Where
 * the process keeps the frame in which a thread left generated code, a sample with its stack has that frame,
 * too, and the stack from there up.
 */
#include "daemon/bpf/kernel_types.h"
#include "daemon/bpf/sampler_abi.h"
#include "daemon/bpf/slot_reader.h"
#include "tailor/draw.h"
#include "tailor/tag.h"
#include "tailor/thread_area.h"

char LICENSE[] SEC("license") = "GPL";

/* The daemon is woken when the ring holds so much. It changes that while the program runs. */
volatile __u64 wakeup_bytes = 1 << 17;

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
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, TAILOR_BPF_CODE_PAGES);
  __type(key, struct tailor_bpf_page);
  __type(value, __u32); /* of no meaning */
} code_pages SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY);
  __uint(map_flags, BPF_F_MMAPABLE);
  __uint(max_entries, 1); /* the daemon says how many */
  __type(key, __u32);
  __type(value, struct tailor_bpf_cpu);
} cpus SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 1 << 19); /* the daemon says how many */
} records SEC(".maps");

/* Sources whose samples are added up, a bit each. */
const volatile __u64 summed_sources = 0;

/* Sources whose weights are ns on the CPU, a bit each. */
const volatile __u64 timer_sources = 0;

/* Two maps: the daemon reads the one that is not in `sums`. When it has changed them, the kernel waits until
 * no program uses the old one any more, so that no sample is lost or counted twice. */
struct sums_of_samples {
  __uint(type, BPF_MAP_TYPE_HASH);
  __uint(max_entries, TAILOR_BPF_SUMS);
  __type(key, struct tailor_bpf_sum_key);
  __type(value, struct tailor_bpf_sum);
} first_sums SEC(".maps"), second_sums SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
  __uint(max_entries, 1);
  __type(key, __u32);
  __array(values, struct sums_of_samples);
} sums SEC(".maps") = {.values = {&first_sums}};

/* The registers of user code: those of the sample, else those saved when it entered the kernel. cs stays 0 if
 * there are none. The context of the program may only be read member by member. */
static __always_inline void read_user_registers(struct bpf_perf_event_data* ctx, struct pt_regs* user) {
  if ((ctx->regs.cs & 3) == 0) {
    const void* saved = (const void*)bpf_task_pt_regs(bpf_get_current_task_btf());
    if (bpf_probe_read_kernel(user, sizeof *user, saved) != 0 || (user->cs & 3) == 0) user->cs = 0;
    return;
  }
  user->cs = ctx->regs.cs;
  user->rax = ctx->regs.rax;
  user->rbx = ctx->regs.rbx;
  user->rcx = ctx->regs.rcx;
  user->rdx = ctx->regs.rdx;
  user->rsi = ctx->regs.rsi;
  user->rdi = ctx->regs.rdi;
  user->rbp = ctx->regs.rbp;
  user->rsp = ctx->regs.rsp;
  user->rip = ctx->regs.rip;
  user->r8 = ctx->regs.r8;
  user->r9 = ctx->regs.r9;
  user->r10 = ctx->regs.r10;
  user->r11 = ctx->regs.r11;
  user->r12 = ctx->regs.r12;
  user->r13 = ctx->regs.r13;
  user->r14 = ctx->regs.r14;
  user->r15 = ctx->regs.r15;
}

static __always_inline void copy_registers(const struct pt_regs* from, struct tailor_bpf_sample* to) {
  to->has_registers = from->cs != 0;
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

/* Whether the thread works for an execution that is not drawn. Where that cannot be read, the daemon looks.
 */
static __always_inline int is_not_drawn(const struct tailor_bpf_process* process,
                                        const struct slot_words* slot) {
  return process->drawn_ppm && slot->execution && !tailor_draws(slot->execution, process->drawn_ppm);
}

static __always_inline void count_not_drawn(struct bpf_perf_event_data* ctx,
                                            struct tailor_bpf_counts* count) {
  if (timer_sources >> (bpf_get_attach_cookie(ctx) & 63) & 1)
    __sync_fetch_and_add(&count->not_drawn_ns, ctx->sample_period);
  __sync_fetch_and_add(&count->not_drawn, 1);
}

/* And what the engine says there that the thread waits for. */
static __always_inline void take_slot(const struct slot_words* slot, struct tailor_bpf_sample* sample) {
  __u32 word = 0;
  sample->slot_tag = slot->tag;
  sample->state = slot->state;
  if (slot->waits_at && bpf_probe_read_user(&word, sizeof word, (const void*)slot->waits_at) == 0)
    sample->waits_for = word;
}

static __always_inline void fill(struct tailor_bpf_sample* sample, struct bpf_perf_event_data* ctx, __u64 id,
                                 __u32 recording, const struct pt_regs* user, const struct slot_words* slot) {
  sample->time = bpf_ktime_get_ns();
  sample->period = ctx->sample_period;
  sample->ip = ctx->regs.rip;
  sample->address = ctx->addr;
  sample->pid = id >> 32;
  sample->tid = (__u32)id;
  sample->recording = recording;
  sample->cpu = bpf_get_smp_processor_id();
  sample->source = bpf_get_attach_cookie(ctx);
  sample->kernel = (ctx->regs.cs & 3) == 0;
  copy_registers(user, sample);
  sample->slot_tag = slot->tag;
  sample->waits_for = 0;
  sample->state = slot->state;
}

/* Whether the sample says whose it is without its stack, or nothing could. */
static __always_inline int is_known(const struct tailor_bpf_process* process, __u32 pid,
                                    const struct pt_regs* user, const struct slot_words* slot) {
  if (!(process->flags & TAILOR_BPF_REGISTERED)) return 1;
  if ((process->flags & TAILOR_BPF_TAG_SLOT) && tailor_tag_fits(process->tag_key, slot->tag))
    return slot->objects_at == 0 || tailor_tag_upper(slot->tag) != 0;
  if ((process->flags & TAILOR_BPF_TAG_R15) && tailor_tag_fits(process->tag_key, user->r15)) return 1;
  if ((process->flags & TAILOR_BPF_TAG_R13) && tailor_tag_fits(process->tag_key, user->r13)) return 1;
  struct tailor_bpf_page page = {.pid = pid, .page = user->rip >> 12};
  return bpf_map_lookup_elem(&code_pages, &page) != 0;
}

/* Adds the sample to its sum. 0 if there is no room, or the map was busy with what this sample interrupted.
 */
static __always_inline int add_up(struct bpf_perf_event_data* ctx, const struct tailor_bpf_process* process,
                                  __u64 id, const struct pt_regs* user, const struct slot_words* slot) {
  struct tailor_bpf_sum_key key = {.recording = process->recording,
                                   .pid = id >> 32,
                                   .tid = (__u32)id,
                                   .source = bpf_get_attach_cookie(ctx),
                                   .kernel = (ctx->regs.cs & 3) == 0,
                                   .has_registers = user->cs != 0,
                                   .user_ip = user->rip,
                                   .state = slot->state};
  if (key.state.execution && key.state.execution != TAILOR_NO_STATE)
    key.state.execution = TAILOR_BPF_SOME_EXECUTION;
  if (process->flags & TAILOR_BPF_TAG_SLOT) key.tag = slot->tag;
  if (process->flags & TAILOR_BPF_TAG_R13) key.tag = user->r13;
  if (process->flags & TAILOR_BPF_TAG_R15) key.tag = user->r15;
  __u32 zero = 0;
  void* active = bpf_map_lookup_elem(&sums, &zero);
  if (!active) return 0;
  struct tailor_bpf_sum* sum = bpf_map_lookup_elem(active, &key);
  if (!sum) {
    struct tailor_bpf_sum first = {};
    bpf_map_update_elem(active, &key, &first, BPF_NOEXIST);
    sum = bpf_map_lookup_elem(active, &key);
    if (!sum) return 0;
  }
  __sync_fetch_and_add(&sum->samples, 1);
  __sync_fetch_and_add(&sum->weight, ctx->sample_period);
  sum->last = bpf_ktime_get_ns();
  sum->ip = ctx->regs.rip;
  sum->execution = slot->state.execution;
  sum->cpu = bpf_get_smp_processor_id();
  return 1;
}

/* All 0 where the thread has none, or is in generated code. */
static __always_inline void read_anchor(const struct slot_words* slot, struct tailor_bpf_anchor* anchor) {
  if (!slot->anchor_at) return;
  if (bpf_probe_read_user(anchor, sizeof *anchor, (const void*)slot->anchor_at) != 0)
    anchor->stack_pointer = 0;
}

/* Returns the bytes that could be read. Near the bottom of the stack it is less; nothing is paged in here. */
static __always_inline __u64 read_stack(__u8* to, __u64 from) {
  const void* stack = (const void*)from;
  if (bpf_probe_read_user(to, TAILOR_BPF_STACK_BYTES, stack) == 0) return TAILOR_BPF_STACK_BYTES;
  if (bpf_probe_read_user(to, TAILOR_BPF_STACK_BYTES / 4, stack) == 0) return TAILOR_BPF_STACK_BYTES / 4;
  if (bpf_probe_read_user(to, TAILOR_BPF_STACK_BYTES / 16, stack) == 0) return TAILOR_BPF_STACK_BYTES / 16;
  return 0;
}

static __always_inline void copy_upper_stack(struct tailor_bpf_anchored_sample* sample, __u64 from,
                                             const struct tailor_bpf_anchor* anchor) {
  const __u64 end = from + sample->whole.stack_bytes, below = anchor->stack_pointer - sizeof(__u64);
  sample->anchor = *anchor;
  sample->upper_at = below > end ? below : end;
  sample->upper_bytes = read_stack(sample->upper, sample->upper_at);
}

static __always_inline void copy_objects(struct tailor_bpf_object_sample* sample, __u64 from) {
  struct tailor_objects head = {};
  sample->objects = 0;
  sample->method = 0;
  if (bpf_probe_read_user(&head, sizeof head, (const void*)from) != 0) return;
  __u32 count = head.count > TAILOR_BPF_OBJECTS ? TAILOR_BPF_OBJECTS : head.count;
  count &= TAILOR_BPF_OBJECTS; /* the verifier understands this */
  if (count == 0 ||
      bpf_probe_read_user(sample->object, count * sizeof(__u64), (const void*)(from + sizeof head)) != 0)
    return;
  sample->objects = count;
  sample->method = head.method;
}

static __always_inline __u64 wakeup_flags(void) {
  return bpf_ringbuf_query(&records, BPF_RB_AVAIL_DATA) >= wakeup_bytes ? BPF_RB_FORCE_WAKEUP
                                                                        : BPF_RB_NO_WAKEUP;
}

/* A recorded thread is on this CPU, whose timer may be off: wakes the daemon, which turns it on. A record too
 * short for a sample does that; without room for it the daemon finds the word at its next look. */
static __always_inline void want_timer(struct tailor_bpf_cpu* cpu) {
  cpu->wanted = 1;
  __u64* nothing = bpf_ringbuf_reserve(&records, sizeof *nothing, 0);
  if (!nothing) return;
  *nothing = 0;
  bpf_ringbuf_submit(nothing, BPF_RB_FORCE_WAKEUP);
}

SEC("perf_event")
int take_sample(struct bpf_perf_event_data* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 pid = id >> 32;
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || (process->flags & TAILOR_BPF_SILENT)) return 0;
  __u32 recording = process->recording;
  struct tailor_bpf_counts* count = bpf_map_lookup_elem(&counts, &recording);
  if (!count) return 0;
  __u32 here = bpf_get_smp_processor_id();
  struct tailor_bpf_cpu* cpu = bpf_map_lookup_elem(&cpus, &here);
  if (cpu) __sync_fetch_and_add(&cpu->hits, 1);
  struct slot_words slot;
  read_slot(process, &slot);
  if (is_not_drawn(process, &slot)) {
    count_not_drawn(ctx, count);
    return 0;
  }

  struct pt_regs user = {};
  read_user_registers(ctx, &user);
  int with_stack = (process->flags & TAILOR_BPF_STACK_ALWAYS) ||
                   ((process->flags & TAILOR_BPF_STACK_UNKNOWN) && !is_known(process, pid, &user, &slot));
  if (!with_stack && (summed_sources >> (bpf_get_attach_cookie(ctx) & 63) & 1) &&
      add_up(ctx, process, id, &user, &slot)) {
    __sync_fetch_and_add(&count->summed, 1);
  } else if (!with_stack) {
    struct tailor_bpf_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
    if (!sample) goto lost;
    fill(sample, ctx, id, recording, &user, &slot);
    bpf_ringbuf_submit(sample, wakeup_flags());
  } else if (slot.objects_at != 0) {
    struct tailor_bpf_object_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
    if (!sample) goto lost;
    fill(&sample->sample, ctx, id, recording, &user, &slot);
    sample->stack_bytes = TAILOR_BPF_OBJECT_STACK_BYTES;
    if (bpf_probe_read_user(sample->stack, TAILOR_BPF_OBJECT_STACK_BYTES, (const void*)user.rsp) != 0)
      sample->stack_bytes = read_stack(sample->stack, user.rsp);
    copy_objects(sample, slot.objects_at);
    bpf_ringbuf_submit(sample, wakeup_flags());
    __sync_fetch_and_add(&count->stacks, 1);
  } else {
    struct tailor_bpf_anchor anchor = {};
    read_anchor(&slot, &anchor);
    if (anchor.stack_pointer > user.rsp) {
      struct tailor_bpf_anchored_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
      if (!sample) goto lost;
      fill(&sample->whole.sample, ctx, id, recording, &user, &slot);
      sample->whole.stack_bytes = read_stack(sample->whole.stack, user.rsp);
      copy_upper_stack(sample, user.rsp, &anchor);
      bpf_ringbuf_submit(sample, wakeup_flags());
    } else {
      struct tailor_bpf_stack_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
      if (!sample) goto lost;
      fill(&sample->sample, ctx, id, recording, &user, &slot);
      sample->stack_bytes = read_stack(sample->stack, user.rsp);
      bpf_ringbuf_submit(sample, wakeup_flags());
    }
    __sync_fetch_and_add(&count->stacks, 1);
  }
  /* A sample may interrupt another one of this CPU. */
  __sync_fetch_and_add(&count->taken, 1);
  return 0;
lost:
  __sync_fetch_and_add(&count->lost, 1);
  return 0;
}

/* The tag and the state of a thread that leaves the CPU, and what its engine says that it waits for, where
 * the process keeps these in memory: the sample of the switch, which is perf's, has none. The tracepoint
 * comes right before it, still in the thread that leaves.
 */
SEC("raw_tp/sched_switch")
int take_slot_at_switch(struct bpf_raw_tracepoint_args* ctx) {
  __u64 id = bpf_get_current_pid_tgid();
  __u32 pid = id >> 32;
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (!process || (process->flags & TAILOR_BPF_SILENT)) return 0;
  if (!(process->flags & (TAILOR_BPF_TAG_SLOT | TAILOR_BPF_HAS_STATE))) return 0;
  /* Of a thread without a slot the log says what there is to say. */
  struct slot_words slot;
  read_slot(process, &slot);
  if (slot.state.execution == TAILOR_NO_STATE && slot.state.plan == TAILOR_BPF_NO_SLOT) return 0;
  __u32 recording = process->recording;
  struct tailor_bpf_counts* count = bpf_map_lookup_elem(&counts, &recording);
  if (!count) return 0;
  struct tailor_bpf_sample* sample = bpf_ringbuf_reserve(&records, sizeof *sample, 0);
  if (!sample) {
    __sync_fetch_and_add(&count->lost, 1);
    return 0;
  }
  __builtin_memset(sample, 0, sizeof *sample);
  sample->time = bpf_ktime_get_ns();
  sample->period = 1;
  sample->pid = pid;
  sample->tid = (__u32)id;
  sample->recording = recording;
  sample->cpu = bpf_get_smp_processor_id();
  sample->source = TAILOR_BPF_SWITCH;
  sample->has_registers = 1;
  take_slot(&slot, sample);
  bpf_ringbuf_submit(sample, wakeup_flags());
  return 0;
}

/* Where the timer of a CPU is off: a recorded thread comes there. */
SEC("raw_tp/sched_switch")
int watch_cpu(struct bpf_raw_tracepoint_args* ctx) {
  __u32 here = bpf_get_smp_processor_id();
  struct tailor_bpf_cpu* cpu = bpf_map_lookup_elem(&cpus, &here);
  if (!cpu || !cpu->watched || cpu->wanted) return 0;
  struct task_struct* next = (struct task_struct*)ctx->args[2];
  __u32 pid = BPF_CORE_READ(next, tgid);
  struct tailor_bpf_process* process = bpf_map_lookup_elem(&processes, &pid);
  if (process && !(process->flags & TAILOR_BPF_SILENT)) want_timer(cpu);
  return 0;
}

/* A child belongs to the recording before it runs. It has no agent yet. */
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
  added.flags &= ~TAILOR_BPF_AGENT;
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
  if (!process) return 0;
  /* The agent was one of the program before: where that had its slots is anything now. */
  process->flags &= ~TAILOR_BPF_AGENT;
  if (!(process->flags & TAILOR_BPF_WAIT_EXEC)) return 0;
  process->flags &= ~TAILOR_BPF_WAIT_EXEC;
  __u32 here = bpf_get_smp_processor_id();
  struct tailor_bpf_cpu* cpu = bpf_map_lookup_elem(&cpus, &here);
  if (cpu && cpu->watched) want_timer(cpu);
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
