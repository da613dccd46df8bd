// The short way for samples whose fields all have fixed places, as those of a profile do.
//
// Without call chains, stacks, raw data and the like, only a register set without values (a kernel thread)
// changes the length of a sample. So when a sample has the full length and its register sets say they have
// values, every field is at an offset that depends on the format alone. All others take the long way through
// parse_sample(), which gives the same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/capture/ring_chunk.h"
#include "daemon/capture/sample_view.h"

namespace tailor::capture {

class FixedSample {
 public:
  // Nothing if a field of the format has no fixed place.
  static std::optional<FixedSample> of(const EventFormat& format);

  // True: `out` has every field Event is made of; the others are left as they are. False: take the long way.
  bool parse(std::span<const std::byte> payload, SampleView& out) const;

 private:
  static constexpr std::uint8_t kAbsent = 0xFF;

  std::size_t words_ = 0;
  std::uint64_t user_mask_ = 0, interrupt_mask_ = 0;
  std::size_t user_count_ = 0, interrupt_count_ = 0;
  // In words from the start of the payload.
  std::uint8_t ip_ = kAbsent, tid_ = kAbsent, time_ = kAbsent, address_ = kAbsent, cpu_ = kAbsent,
               period_ = kAbsent, user_ = kAbsent, weight_ = kAbsent, data_source_ = kAbsent,
               interrupt_ = kAbsent;
};

}  // namespace tailor::capture
