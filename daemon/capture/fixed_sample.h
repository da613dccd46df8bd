// The short way for samples whose fields all have fixed places, as those of a profile do.
//
// Without call chains, stacks, raw data and the like, only a register set without values (a kernel thread)
// changes the length of a sample. So when a sample has the full length and its register sets say they have
// values, every field is at an offset that depends on the format alone, and in user mode every register is
// user code's own. All others take the long way through parse_sample() and append_sample(), which give the
// same.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "daemon/capture/batch.h"
#include "daemon/capture/record_events.h"
#include "daemon/capture/ring_chunk.h"

namespace tailor::capture {

class FixedSample {
 public:
  // Nothing if a field of the format has no fixed place.
  static std::optional<FixedSample> of(const EventFormat& format);

  // Appends the event of a PERF_RECORD_SAMPLE. False, and `out` as before: take the long way.
  bool append(const RecordView& record, std::uint32_t ring_cpu, Batch& out) const;

 private:
  static constexpr std::uint8_t kAbsent = 0xFF;

  void set_registers(std::uint8_t at, std::uint64_t mask, std::uint8_t tag_register);

  Event blank_;  // with what depends on the format alone
  std::size_t words_ = 0;
  bool usable_ = true;  // the masks name known registers only
  bool wide_latency_ = false;
  // In words from the start of the payload.
  std::uint8_t ip_ = kAbsent, tid_ = kAbsent, time_ = kAbsent, address_ = kAbsent, cpu_ = kAbsent,
               period_ = kAbsent, user_ = kAbsent, weight_ = kAbsent, data_source_ = kAbsent,
               interrupt_ = kAbsent;
  // Of the set that counts in user mode: the values, and the one that holds the tag.
  std::uint8_t first_register_ = kAbsent, tag_ = kAbsent;
  std::uint8_t registers_ = 0;
};

}  // namespace tailor::capture
