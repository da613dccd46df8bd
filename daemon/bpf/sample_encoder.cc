#include "daemon/bpf/sample_encoder.h"

#include <asm/perf_regs.h>
#include <linux/perf_event.h>

#include <bit>
#include <cstring>

#include "daemon/capture/register_masks.h"

namespace tailor::bpf {
namespace {

static_assert(std::popcount(capture::kGeneralRegisters) == TAILOR_BPF_REGISTERS);

// Where the record keeps a register: it leaves out flags and segments.
std::uint64_t value_of(const tailor_bpf_sample& sample, unsigned perf_register) {
  const std::uint64_t below = capture::kGeneralRegisters & (capture::register_bit(perf_register) - 1);
  return sample.registers[std::popcount(below)];
}

class RecordWords {
 public:
  void put(std::uint64_t word) { words_[size_++] = word; }
  void put(std::uint32_t low, std::uint32_t high) { put(std::uint64_t{high} << 32 | low); }
  void append_to(std::vector<std::byte>& out, std::uint16_t misc) {
    const perf_event_header header{PERF_RECORD_SAMPLE, misc, static_cast<std::uint16_t>(size_ * 8)};
    std::memcpy(words_, &header, sizeof header);
    const auto* bytes = reinterpret_cast<const std::byte*>(words_);
    out.insert(out.end(), bytes, bytes + size_ * 8);
  }

 private:
  std::uint64_t words_[16 + TAILOR_BPF_REGISTERS];
  std::size_t size_ = 1;  // behind the header
};

}  // namespace

capture::RingLayout layout_of(const std::vector<capture::EventSpec>& events, bool all_registers) {
  capture::RingLayout layout;
  for (std::size_t i = 0; i < events.size(); ++i) {
    capture::EventFormat format;
    format.source = static_cast<std::uint16_t>(i);
    format.sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
                         PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
    if (events[i].address) format.sample_type |= PERF_SAMPLE_ADDR;
    format.regs_user = all_registers ? capture::kGeneralRegisters
                                     : capture::kTagRegisters | capture::register_bit(PERF_REG_X86_IP);
    format.period = events[i].period;
    layout.formats.push_back(format);
    layout.ids.push_back({i + 1, static_cast<std::uint16_t>(i)});
  }
  return layout;
}

bool encode_sample(const capture::RingLayout& layout, const tailor_bpf_sample& sample, TimeNs time,
                   std::vector<std::byte>& out) {
  if (sample.source >= layout.formats.size()) return false;
  const capture::EventFormat& format = layout.formats[sample.source];
  RecordWords words;
  words.put(layout.ids[sample.source].id);
  words.put(sample.ip);
  words.put(sample.pid, sample.tid);
  words.put(static_cast<std::uint64_t>(time));
  if (format.sample_type & PERF_SAMPLE_ADDR) words.put(sample.address);
  words.put(sample.cpu, 0);
  words.put(sample.period);
  if (sample.has_registers != 0) {
    words.put(sample.compat ? PERF_SAMPLE_REGS_ABI_32 : PERF_SAMPLE_REGS_ABI_64);
    for (std::uint64_t rest = format.regs_user; rest != 0; rest &= rest - 1) {
      words.put(value_of(sample, static_cast<unsigned>(std::countr_zero(rest))));
    }
  } else {
    words.put(PERF_SAMPLE_REGS_ABI_NONE);
  }
  words.append_to(out, sample.kernel ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER);
  return true;
}

}  // namespace tailor::bpf
