#include "daemon/capture/decode/fixed_sample.h"

#include <asm/perf_regs.h>

#include <bit>

#include "daemon/capture/decode/register_masks.h"

namespace tailor::capture {
namespace {

constexpr std::uint64_t kFixedFields =
    PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR |
    PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU | PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER |
    PERF_SAMPLE_WEIGHT_TYPE | PERF_SAMPLE_DATA_SRC | PERF_SAMPLE_REGS_INTR;

}  // namespace

std::optional<FixedSample> FixedSample::of(const EventFormat& format, std::uint32_t ring_cpu) {
  std::uint64_t type = format.sample_type;
  if (type & ~kFixedFields) return std::nullopt;
  FixedSample fixed;
  std::uint8_t next = 0;
  auto place = [&](std::uint64_t field, int words = 1) {
    if (!(type & field)) return kAbsent;
    std::uint8_t at = next;
    next = static_cast<std::uint8_t>(next + words);
    return at;
  };
  place(PERF_SAMPLE_IDENTIFIER);
  fixed.ip_ = place(PERF_SAMPLE_IP);
  fixed.tid_ = place(PERF_SAMPLE_TID);
  fixed.time_ = place(PERF_SAMPLE_TIME);
  fixed.address_ = place(PERF_SAMPLE_ADDR);
  place(PERF_SAMPLE_ID);
  place(PERF_SAMPLE_STREAM_ID);
  fixed.cpu_ = place(PERF_SAMPLE_CPU);
  fixed.period_ = place(PERF_SAMPLE_PERIOD);
  fixed.user_ = place(PERF_SAMPLE_REGS_USER, 1 + std::popcount(format.regs_user));
  fixed.weight_ = place(PERF_SAMPLE_WEIGHT_TYPE);
  fixed.data_source_ = place(PERF_SAMPLE_DATA_SRC);
  fixed.interrupt_ = place(PERF_SAMPLE_REGS_INTR, 1 + std::popcount(format.regs_intr));
  fixed.words_ = next;
  const std::uint64_t size = (fixed.words_ + 1) * sizeof(std::uint64_t);
  fixed.header_ = PERF_RECORD_SAMPLE | std::uint64_t{PERF_RECORD_MISC_USER} << 32 | size << 48;
  fixed.of_memory_ = fixed.address_ != kAbsent || fixed.data_source_ != kAbsent || fixed.weight_ != kAbsent;
  fixed.wide_latency_ = !(type & PERF_SAMPLE_WEIGHT_STRUCT);
  fixed.blank_.kind = Kind::kSample;
  fixed.blank_.mode = profile::Mode::kUser;
  fixed.blank_.source = format.source;
  fixed.blank_.cpu = ring_cpu;
  fixed.blank_.tag_from = static_cast<std::uint8_t>(format.tag_from);
  fixed.blank_.part = format.part;
  fixed.blank_.weight = format.period;
  fixed.blank_.has_address = type & PERF_SAMPLE_ADDR;
  if (!format.registers_known) return fixed;
  if (fixed.interrupt_ != kAbsent) {
    fixed.set_registers(fixed.interrupt_, format.regs_intr, format.tag_register);
  } else if (fixed.user_ != kAbsent) {
    fixed.set_registers(fixed.user_, format.regs_user, format.tag_register);
  }
  return fixed;
}

void FixedSample::set_registers(std::uint8_t at, std::uint64_t mask, std::uint8_t tag_register) {
  usable_ = (mask & ~kKeptPlaces) == 0;
  if (!usable_ || mask == 0) return;
  blank_.regs_mask = static_cast<std::uint32_t>(mask);
  first_register_ = static_cast<std::uint8_t>(at + 1);
  if ((mask & kStatePlaces) == kStatePlaces)
    state_ = static_cast<std::uint8_t>(first_register_ +
                                       std::popcount(mask & (register_bit(kExecutionPlace) - 1)));
  if (tag_register >= PERF_REG_X86_64_MAX || !(mask >> tag_register & 1)) return;
  const std::uint64_t below = mask & ((std::uint64_t{1} << tag_register) - 1);
  tag_ = static_cast<std::uint8_t>(first_register_ + std::popcount(below));
  blank_.has_tag = true;
}

}  // namespace tailor::capture
