#include <asm/perf_regs.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "daemon/capture/decode/record_events.h"
#include "daemon/capture/decode/register_masks.h"
#include "daemon/capture/decode/sample_view.h"
#include "daemon/profile/walk_end.h"

namespace tailor::capture {
namespace {

constexpr std::uint32_t bit(unsigned perf_register) {
  return std::uint32_t{1} << perf_register;
}

// The kernel does not save these on entry, so for a sample in kernel mode it reports all ones.
constexpr std::uint32_t kHiddenInKernel = bit(PERF_REG_X86_BX) | bit(PERF_REG_X86_BP) |
                                          bit(PERF_REG_X86_R12) | bit(PERF_REG_X86_R13) |
                                          bit(PERF_REG_X86_R14) | bit(PERF_REG_X86_R15);

// Event::regs_mask has a bit for each.
constexpr unsigned kEventRegisters = 32;

constexpr Event kBlank;

// Interrupt registers of a kernel-mode sample are the kernel's own: they say nothing of user code.
const RegisterView& user_code_registers(const SampleView& sample, profile::Mode mode) {
  bool interrupted_user =
      sample.interrupt_registers.abi != PERF_SAMPLE_REGS_ABI_NONE && mode == profile::Mode::kUser;
  return interrupted_user ? sample.interrupt_registers : sample.user_registers;
}

void add_registers(const RegisterView& view, std::uint8_t tag_register, Event& event, Batch& out) {
  event.regs_offset = static_cast<std::uint32_t>(out.words.size());
  std::size_t index = 0;
  for (std::uint64_t rest = view.mask; rest != 0; rest &= rest - 1, ++index) {
    auto number = static_cast<unsigned>(std::countr_zero(rest));
    if (number >= kEventRegisters) break;
    if ((kKeptPlaces & register_bit(number)) == 0) continue;
    std::uint64_t value = view.values[index];
    bool hidden =
        event.mode != profile::Mode::kUser && (kHiddenInKernel & bit(number)) && value == ~std::uint64_t{0};
    if (hidden) continue;
    event.regs_mask |= bit(number);
    out.words.push_back(value);
    if (number == PERF_REG_X86_IP) event.user_ip = value;
    if (number == tag_register) {
      event.has_tag = true;
      event.tag = value;
    }
  }
}

// The chain as the kernel gives it: markers say which part follows, and each part begins with its IP. The
// kernel's part is kept whole, as far as it comes first and fits its count. The user's part comes last. Its
// words are what lay on the stack, so one of them may look like a marker: it is left out, and changes
// nothing.
void add_chain(const WordView& chain, Event& event, Batch& out) {
  constexpr auto kMostKernelFrames = std::numeric_limits<std::uint8_t>::max();
  event.chain_offset = static_cast<std::uint32_t>(out.words.size());
  bool kernel = false;
  bool user = false;
  bool first = false;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    std::uint64_t word = chain[i];
    if (word >= static_cast<std::uint64_t>(PERF_CONTEXT_MAX)) {
      if (user) continue;
      kernel =
          word == static_cast<std::uint64_t>(PERF_CONTEXT_KERNEL) && event.chain_offset == out.words.size();
      user = first = word == static_cast<std::uint64_t>(PERF_CONTEXT_USER);
    } else if (kernel && event.kernel_chain_size < kMostKernelFrames) {
      out.words.push_back(word);
      ++event.kernel_chain_size;
      ++event.chain_offset;
    } else if (first) {
      first = false;
      if (event.user_ip == 0) event.user_ip = word;
    } else if (user) {
      out.words.push_back(word);
    }
  }
  event.chain_size = static_cast<std::uint16_t>(out.words.size() - event.chain_offset);
}

// Of a sample whose callers were looked for in a piece of its stack. An end that a later version knows is
// none here.
std::uint8_t walk_end_of(const RegisterView& user) {
  constexpr std::uint64_t kBit = register_bit(kWalkEndPlace);
  if (user.values.empty() || (user.mask & kBit) == 0) return 0;
  const std::uint64_t end = user.values[static_cast<std::size_t>(std::popcount(user.mask & (kBit - 1)))];
  return end <= profile::kWalkEnds ? static_cast<std::uint8_t>(end) : 0;
}

std::uint32_t latency_of(const EventFormat& format, const SampleView& sample) {
  if (format.sample_type & PERF_SAMPLE_WEIGHT_STRUCT) return static_cast<std::uint32_t>(sample.weight);
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(sample.weight, std::numeric_limits<std::uint32_t>::max()));
}

}  // namespace

profile::Mode mode_of(std::uint16_t misc) {
  switch (misc & PERF_RECORD_MISC_CPUMODE_MASK) {
    case PERF_RECORD_MISC_USER:
      return profile::Mode::kUser;
    case PERF_RECORD_MISC_KERNEL:
      return profile::Mode::kKernel;
    default:
      return profile::Mode::kOther;
  }
}

void append_sample(const EventFormat& format, std::uint32_t ring_cpu, std::uint16_t misc,
                   const SampleView& sample, Batch& out) {
  // A copy is several times cheaper than zeroing in place, which compilers do by a string instruction.
  Event& event = out.events.emplace_back(kBlank);
  event.kind = Kind::kSample;
  event.mode = mode_of(misc);
  event.source = format.source;
  event.tag_from = static_cast<std::uint8_t>(format.tag_from);
  event.part = format.part;
  event.time = static_cast<TimeNs>(sample.time);
  event.cpu = format.sample_type & PERF_SAMPLE_CPU ? sample.cpu : ring_cpu;
  event.pid = sample.pid;
  event.tid = sample.tid;
  event.weight = format.sample_type & PERF_SAMPLE_PERIOD ? sample.period : format.period;
  event.ip = sample.ip;
  event.has_address = format.sample_type & PERF_SAMPLE_ADDR;
  event.address = sample.address;
  event.data_source = sample.data_source;
  event.latency = latency_of(format, sample);
  const RegisterView& registers = user_code_registers(sample, event.mode);
  if (!registers.values.empty() && format.registers_known)
    add_registers(registers, format.tag_register, event, out);
  if (format.registers_known) event.walk_end = walk_end_of(sample.user_registers);
  if (event.mode == profile::Mode::kUser) event.user_ip = sample.ip;
  if (!sample.chain.empty()) add_chain(sample.chain, event, out);
}

RecordOutcome decode_sample(const EventFormat& format, std::uint32_t ring_cpu, const RecordView& record,
                            Batch& out) {
  SampleView sample;
  if (!parse_sample(format, record.payload, sample)) return RecordOutcome::kMalformed;
  append_sample(format, ring_cpu, record.misc, sample, out);
  return RecordOutcome::kDecoded;
}

}  // namespace tailor::capture
