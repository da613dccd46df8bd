#include "daemon/bpf/sample_encoder.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "daemon/capture/decode/register_masks.h"
#include "tailor/thread_area.h"

namespace tailor::bpf {
namespace {

constexpr std::uint64_t kSlot = capture::register_bit(capture::kSlotPlace);
constexpr std::uint64_t kWait = capture::register_bit(capture::kWaitPlace);

static_assert(std::popcount(capture::kGeneralRegisters) == TAILOR_BPF_REGISTERS);

// Where the record keeps a register: it leaves out flags and segments.
std::size_t place_of(unsigned perf_register) {
  return std::popcount(capture::kGeneralRegisters & (capture::register_bit(perf_register) - 1));
}

std::uint64_t value_of(const tailor_bpf_sample& sample, const Brought& brought, unsigned perf_register) {
  switch (perf_register) {
    case capture::kSlotPlace:
      return sample.slot_tag;
    case capture::kWaitPlace:
      return sample.waits_for;
    case capture::kAnchorSpPlace:
      return brought.anchor.stack_pointer;
    case capture::kAnchorIpPlace:
      return brought.anchor.instruction_pointer;
    case capture::kAnchorBpPlace:
      return brought.anchor.frame_pointer;
    case capture::kUpperStackPlace:
      return brought.upper_at;
    case capture::kExecutionPlace:
      return sample.state.execution;
    case capture::kPlanPlace:
      return sample.state.plan;
    case capture::kWorkPlace:
      return sample.state.work;
    default:
      return sample.registers[place_of(perf_register)];
  }
}

static_assert(TAILOR_BPF_NO_SLOT == capture::kNoSlot && TAILOR_BPF_UNREAD_SLOT == capture::kSlotUnread);

// Whether the process is one whose slots have states, be there one or not.
bool was_asked_for_state(const tailor_bpf_state& state) {
  return state.execution != TAILOR_NO_STATE || state.plan != TAILOR_BPF_NOT_ASKED;
}

// What a sample brings besides its registers.
enum class Brings : std::uint8_t { kNothing, kStack, kStackAndObjects };

capture::EventFormat format_of(const capture::EventSpec& event, std::size_t source, bool all_registers,
                               Brings brings, bool state) {
  const bool stack = brings != Brings::kNothing;
  capture::EventFormat format;
  format.source = static_cast<std::uint16_t>(source);
  format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                       PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
  if (event.address) format.sample_type |= PERF_SAMPLE_ADDR;
  if (stack) format.sample_type |= PERF_SAMPLE_STACK_USER;
  if (brings == Brings::kStackAndObjects) format.sample_type |= PERF_SAMPLE_RAW;
  format.regs_user =
      kSlot | (all_registers || stack ? capture::kGeneralRegisters
                                      : capture::kTagRegisters | capture::register_bit(PERF_REG_X86_IP));
  if (stack) format.regs_user |= capture::kAnchorPlaces;
  if (state) format.regs_user |= capture::kStatePlaces;
  format.period = event.period;
  format.part = event.part;
  return format;
}

}  // namespace

capture::RingLayout layout_of(const std::vector<capture::EventSpec>& events, bool all_registers, bool stacks,
                              std::optional<std::uint16_t> switches) {
  capture::RingLayout layout;
  layout.operands = all_registers;
  const auto add = [&layout](const capture::EventFormat& format) {
    const auto number = static_cast<std::uint16_t>(layout.formats.size());
    layout.formats.push_back(format);
    layout.ids.push_back({number + std::uint64_t{1}, number});
  };
  for (const bool state : {false, true}) {
    for (const Brings brings : {Brings::kNothing, Brings::kStack, Brings::kStackAndObjects}) {
      if (brings != Brings::kNothing && !stacks) continue;
      for (std::size_t i = 0; i < events.size(); ++i)
        add(format_of(events[i], i, all_registers, brings, state));
    }
  }
  if (!switches) return layout;
  capture::EventFormat slot;
  slot.source = *switches;
  slot.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                     PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
  slot.regs_user = kSlot | kWait;
  slot.period = 1;
  add(slot);
  slot.regs_user |= capture::kStatePlaces;
  add(slot);
  return layout;
}

bool encode_sample(const capture::RingLayout& layout, const tailor_bpf_sample& sample, const Brought& brought,
                   TimeNs time, std::vector<std::byte>& out) {
  const std::span<const std::byte> stack = brought.stack;
  const bool state = was_asked_for_state(sample.state);
  const auto found = std::ranges::find_if(layout.formats, [&](const capture::EventFormat& each) {
    return each.source == sample.source && !!(each.regs_user & capture::kStatePlaces) == state &&
           !!(each.sample_type & PERF_SAMPLE_STACK_USER) == !stack.empty() &&
           !!(each.sample_type & PERF_SAMPLE_RAW) == (!stack.empty() && !brought.objects.empty());
  });
  if (found == layout.formats.end()) return false;
  const capture::EventFormat& format = *found;
  const std::size_t start = out.size();
  const auto put = [&out](std::uint64_t word) {
    const auto* bytes = reinterpret_cast<const std::byte*>(&word);
    out.insert(out.end(), bytes, bytes + sizeof word);
  };
  put(0);  // the header, when the size is known
  put(layout.ids[static_cast<std::size_t>(found - layout.formats.begin())].id);
  put(sample.ip);
  put(std::uint64_t{sample.tid} << 32 | sample.pid);
  put(static_cast<std::uint64_t>(time));
  if (format.sample_type & PERF_SAMPLE_ADDR) put(sample.address);
  put(sample.cpu);
  put(sample.period);
  if (format.sample_type & PERF_SAMPLE_RAW) {
    // A count of bytes in 32 bits stands before them, and whole words follow.
    put(std::uint64_t{brought.method} << 32 | (sizeof brought.method + brought.objects.size_bytes()));
    for (const __u64 object : brought.objects) put(object);
  }
  if (sample.has_registers != 0) {
    put(sample.compat ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64);
    for (std::uint64_t rest = format.regs_user; rest != 0; rest &= rest - 1) {
      put(value_of(sample, brought, static_cast<unsigned>(std::countr_zero(rest))));
    }
  } else {
    put(PERF_SAMPLE_REGS_ABI_NONE);
  }
  if (!stack.empty()) {
    put(stack.size() + brought.upper.size());
    out.insert(out.end(), stack.begin(), stack.end());
    out.insert(out.end(), brought.upper.begin(), brought.upper.end());
    put(stack.size());
  }
  const std::uint16_t misc = sample.kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
  const perf_event_header header{PERF_RECORD_SAMPLE, misc, static_cast<std::uint16_t>(out.size() - start)};
  std::memcpy(out.data() + start, &header, sizeof header);
  return true;
}

bool encode_sum(const capture::RingLayout& layout, const tailor_bpf_sum_key& key, const tailor_bpf_sum& sum,
                TimeNs time, std::vector<std::byte>& out) {
  tailor_bpf_sample sample{};
  sample.period = sum.weight;
  sample.ip = key.kernel ? sum.ip : key.user_ip;
  sample.pid = key.pid;
  sample.tid = key.tid;
  sample.recording = key.recording;
  sample.cpu = sum.cpu;
  sample.source = key.source;
  sample.kernel = key.kernel;
  sample.has_registers = key.has_registers;
  sample.slot_tag = key.tag;
  sample.state = key.state;
  sample.state.execution = sum.execution;
  for (unsigned each : {PERF_REG_X86_R13, PERF_REG_X86_R15}) sample.registers[place_of(each)] = key.tag;
  sample.registers[place_of(PERF_REG_X86_IP)] = key.user_ip;
  return encode_sample(layout, sample, {}, time, out);
}

}  // namespace tailor::bpf
