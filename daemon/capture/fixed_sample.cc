#include "daemon/capture/fixed_sample.h"

#include <bit>

namespace tailor::capture {
namespace {

constexpr std::uint64_t kFixedFields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
    PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR;

}  // namespace

std::optional<FixedSample> FixedSample::of(const EventFormat& format) {
  std::uint64_t type = format.sample_type;
  if (type & ~kFixedFields) return std::nullopt;
  FixedSample fixed;
  std::uint8_t next = 0;
  auto place = [&](std::uint64_t field, std::size_t words = 1) {
    if (!(type & field)) return kAbsent;
    std::uint8_t at = next;
    next = static_cast<std::uint8_t>(next + words);
    return at;
  };
  fixed.user_mask_ = format.regs_user;
  fixed.interrupt_mask_ = format.regs_intr;
  fixed.user_count_ = static_cast<std::size_t>(std::popcount(format.regs_user));
  fixed.interrupt_count_ = static_cast<std::size_t>(std::popcount(format.regs_intr));
  place(PERF_SAMPLE_IDENTIFIER);
  fixed.ip_ = place(PERF_SAMPLE_IP);
  fixed.tid_ = place(PERF_SAMPLE_TID);
  fixed.time_ = place(PERF_SAMPLE_TIME);
  fixed.address_ = place(PERF_SAMPLE_ADDR);
  place(PERF_SAMPLE_ID);
  place(PERF_SAMPLE_STREAM_ID);
  fixed.cpu_ = place(PERF_SAMPLE_CPU);
  fixed.period_ = place(PERF_SAMPLE_PERIOD);
  fixed.user_ = place(PERF_SAMPLE_REGS_USER, 1 + fixed.user_count_);
  fixed.weight_ = place(PERF_SAMPLE_WEIGHT_TYPE);
  fixed.data_source_ = place(PERF_SAMPLE_DATA_SRC);
  fixed.interrupt_ = place(PERF_SAMPLE_REGS_INTR, 1 + fixed.interrupt_count_);
  fixed.words_ = next;
  return fixed;
}

bool FixedSample::parse(std::span<const std::byte> payload, SampleView& out) const {
  if (payload.size() != words_ * sizeof(std::uint64_t)) return false;
  WordView words(payload.data(), words_);
  auto registers = [&](std::uint8_t at, std::uint64_t mask, std::size_t count, RegisterView& view) {
    if (at == kAbsent) {
      view = {};  // not that of another format's sample
      return true;
    }
    view.abi = words[at];
    view.mask = mask;
    view.values = WordView(payload.data() + (at + 1u) * sizeof(std::uint64_t), count);
    return view.abi != PERF_SAMPLE_REGS_ABI_NONE;
  };
  if (!registers(user_, user_mask_, user_count_, out.user_registers)) return false;
  if (!registers(interrupt_, interrupt_mask_, interrupt_count_, out.interrupt_registers)) return false;
  auto word = [&](std::uint8_t at) { return at == kAbsent ? 0 : words[at]; };
  out.ip = word(ip_);
  std::uint64_t thread = word(tid_);
  out.pid = static_cast<std::int32_t>(thread);
  out.tid = static_cast<std::int32_t>(thread >> 32);
  out.time = word(time_);
  out.address = word(address_);
  out.cpu = static_cast<std::uint32_t>(word(cpu_));
  out.period = word(period_);
  out.weight = word(weight_);
  out.data_source = word(data_source_);
  return true;
}

}  // namespace tailor::capture
