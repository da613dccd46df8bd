#include "daemon/capture/select/event_spec.h"

#include <asm/perf_regs.h>
#include <time.h>

#include <algorithm>

#include "daemon/capture/decode/register_masks.h"

namespace tailor::capture {
namespace {

bool is_prime(std::uint64_t value) {
  for (std::uint64_t d = 2; d * d <= value; ++d) {
    if (value % d == 0) return false;
  }
  return value >= 2;
}

// Both parts of a call chain share one limit.
constexpr std::uint16_t kKernelFramesOfAWait = 32;

void set_sample_fields(const EventSpec& spec, const CaptureOptions& options, perf_event_attr& attr) {
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  const bool stack = options.stacks == Stacks::kAlways && spec.mechanism != Mechanism::kPebs;
  if (options.events.size() > 1 || stack) attr.sample_type |= PERF_SAMPLE_IDENTIFIER;
  if (spec.address) attr.sample_type |= PERF_SAMPLE_ADDR;
  if (spec.address && spec.mechanism != Mechanism::kSoftware) {
    attr.sample_type |= PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_WEIGHT;
  }
  const std::uint64_t registers = options.all_registers || stack ? kGeneralRegisters : kTagRegisters;
  if (spec.mechanism == Mechanism::kPebs) {
    // The record's own registers; user registers would be those of the interrupt on older kernels.
    attr.sample_type |= PERF_SAMPLE_REGS_INTR;
    attr.sample_regs_intr = registers;
    return;
  }
  // The user IP tells where a sample in kernel mode came from.
  attr.sample_type |= PERF_SAMPLE_REGS_USER;
  attr.sample_regs_user = registers | register_bit(PERF_REG_X86_IP);
  if (stack) {
    attr.sample_type |= PERF_SAMPLE_STACK_USER;
    attr.sample_stack_user = options.callchain ? kCallchainStackBytes : kStackBytes;
  }
  if (options.callchain || (spec.callchain && !stack)) {
    attr.sample_type |= PERF_SAMPLE_CALLCHAIN;
    // The kernel's own frames say what a thread waits for, and belong to a whole chain. The user's come from
    // the piece of stack where there is one.
    const bool kernel = options.callchain || spec.unit == profile::Unit::kNsOffCpu;
    attr.exclude_callchain_kernel = !kernel;
    attr.exclude_callchain_user = stack;
    const std::uint16_t least = options.max_stack + (kernel ? kKernelFramesOfAWait : 0);
    attr.sample_max_stack = options.callchain ? 0 : least;  // 0: as many as the host permits
  }
}

void set_sideband(const CaptureOptions& options, perf_event_attr& attr) {
  if (options.kernel_code) {
    attr.ksymbol = 1;
    return;
  }
  attr.mmap = 1;
  attr.mmap2 = 1;
  // Not build_id: the kernel then marks the records of others, too (daemon/unwind/mapped_file_id.h).
  // All memory, not only code, where samples have data addresses.
  attr.mmap_data = wants_memory_map(options);
  attr.comm = 1;
  attr.comm_exec = 1;
  attr.task = 1;
  attr.context_switch = options.context_switches;
}

}  // namespace

std::uint64_t prime_at_least(std::uint64_t n) {
  n = std::max<std::uint64_t>(n, 2);
  while (!is_prime(n)) ++n;
  return n;
}

std::uint64_t prime_at_most(std::uint64_t n) {
  n = std::max<std::uint64_t>(n, 2);
  while (!is_prime(n)) --n;
  return n;
}

EventSpec off_cpu() {
  EventSpec spec;
  spec.name = "off-cpu";
  spec.mechanism = Mechanism::kSoftware;
  spec.unit = profile::Unit::kNsOffCpu;
  spec.config = PERF_COUNT_SW_CONTEXT_SWITCHES;
  spec.period = 1;
  spec.callchain = true;
  return spec;
}

EventSpec sideband_only() {
  EventSpec spec;
  spec.name = "sideband";
  spec.mechanism = Mechanism::kSoftware;
  spec.unit = profile::Unit::kEvents;
  spec.config = PERF_COUNT_SW_DUMMY;
  return spec;
}

bool is_sideband_only(const EventSpec& spec) {
  return spec.mechanism == Mechanism::kSoftware && spec.config == PERF_COUNT_SW_DUMMY;
}

EventSpec cpu_clock(std::uint64_t hz) {
  EventSpec spec;
  spec.name = "cpu-clock";
  spec.config = PERF_COUNT_SW_CPU_CLOCK;
  spec.period = prime_at_most(1'000'000'000 / std::clamp<std::uint64_t>(hz, 1, 100'000));
  return spec;
}

profile::Source source_of(const EventSpec& spec, std::uint16_t index) {
  if (spec.part == Part::kAll) return {index, spec.name, spec.unit, spec.period, spec.precise_ip > 0};
  return {index, "cycles", spec.unit, spec.period, true};
}

bool wants_memory_map(const CaptureOptions& options) {
  return options.all_registers || std::ranges::any_of(options.events, &EventSpec::address);
}

perf_event_attr make_attr(const EventSpec& spec, bool sideband, const CaptureOptions& options, bool process) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = spec.type;
  attr.config = spec.config;
  attr.config1 = spec.config1;
  attr.config2 = spec.config2;
  attr.sample_period = spec.period;
  attr.precise_ip = spec.precise_ip & 3;
  set_sample_fields(spec, options, attr);
  if (sideband) set_sideband(options, attr);
  attr.read_format = PERF_FORMAT_LOST;
  // Events of the CPU take turns where there are too few counters. Those of the kernel never do.
  if (spec.type != PERF_TYPE_SOFTWARE) {
    attr.read_format |= PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
  }
  attr.sample_id_all = 1;
  attr.exclude_hv = 1;
  attr.exclude_idle = 1;
  // Large PEBS fills its buffer in user mode only; IBS refuses the filter.
  attr.exclude_kernel = spec.mechanism == Mechanism::kPebs || options.exclude_kernel || options.kernel_code;
  if (spec.mechanism == Mechanism::kIbs) {
    attr.exclude_kernel = options.exclude_kernel && spec.config2 != 0;  // config2: the kernel's own filter
    attr.exclude_hv = attr.exclude_idle = 0;
  }
  attr.inherit = process;
  attr.inherit_thread = process && !options.follow_children;
  // An event of a CPU sees nobody's exec: what is before that of a command is its wait for the start.
  attr.enable_on_exec = options.enable_on_exec && process;
  attr.disabled = attr.enable_on_exec || options.start_disabled;
  bool one_by_one = spec.mechanism == Mechanism::kPebs && !options.large_pebs;
  // Records of code are few, and nobody looks for them meanwhile.
  const bool each_wakes = one_by_one || options.kernel_code;
  attr.watermark = !one_by_one;
  attr.wakeup_watermark = each_wakes ? 1 : static_cast<std::uint32_t>(options.ring_bytes / 4);
  // A PEBS record keeps its time only under perf's own clock; an interrupt per record has the time of the
  // interrupt under any.
  if (spec.mechanism != Mechanism::kPebs || one_by_one) {
    attr.use_clockid = 1;
    attr.clockid = CLOCK_MONOTONIC_RAW;
  }
  return attr;
}

perf_event_attr leader_of(const perf_event_attr& attr, std::uint64_t config) {
  perf_event_attr leader{};
  leader.size = sizeof leader;
  leader.type = attr.type;
  leader.config = config;
  leader.exclude_user = attr.exclude_user;
  leader.exclude_kernel = attr.exclude_kernel;
  leader.exclude_hv = attr.exclude_hv;
  leader.exclude_idle = attr.exclude_idle;
  leader.inherit = attr.inherit;
  leader.inherit_thread = attr.inherit_thread;
  leader.disabled = attr.disabled;
  leader.enable_on_exec = attr.enable_on_exec;
  leader.use_clockid = attr.use_clockid;  // a group has one clock
  leader.clockid = attr.clockid;
  return leader;
}

EventFormat format_of(const perf_event_attr& attr, const EventSpec& spec, std::uint16_t source,
                      std::uint8_t tag_register) {
  EventFormat format;
  format.source = source;
  format.sample_type = attr.sample_type;
  format.read_format = attr.read_format;
  format.branch_sample_type = attr.branch_sample_type;
  format.regs_user = attr.sample_regs_user;
  format.regs_intr = attr.sample_regs_intr;
  format.sample_id_all = attr.sample_id_all;
  format.period = spec.period;
  format.tag_register = tag_register;
  format.part = spec.part;
  return format;
}

}  // namespace tailor::capture
