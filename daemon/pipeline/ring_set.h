// The decoders of all rings, and what their bytes become.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>

#include "daemon/capture/decode/intake.h"
#include "daemon/capture/decode/record_decoder.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/clock/conversion.h"
#include "daemon/clock/timeline.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::pipeline {

// The latest times that records have; kTimeMin without a record.
struct NewestTimes {
  TimeNs record = kTimeMin;
  TimeNs sample = kTimeMin;           // other records may be told ahead of their time
  TimeNs sample_of_chunk = kTimeMin;  // of the last chunk
};

// One thread.
class RingSet {
 public:
  // A new ring, or a new layout of a known one. Fails for a layout that contradicts itself, and for one whose
  // records are stamped by a clock that cannot be converted.
  Status open(const capture::RingLayout& layout);
  void close(capture::RingIndex ring);
  // How times of perf's own clock are converted from now on. Fails, and changes nothing, for a line that
  // makes no sense.
  Status set_perf_clock(const clock::Conversion& line);
  // Gives what `chunk` holds to an empty intake, with times on `timeline`; returns the ring's layout, NULL if
  // there is no such ring.
  const capture::RingLayout* decode(const capture::RingChunk& chunk, const clock::Timeline& timeline,
                                    capture::Intake& out);

  // Whether samples may come: a ring is open that is not of kernel code alone.
  bool may_sample() const { return !sampling_.empty(); }
  // Of all rings, closed ones included.
  const NewestTimes& newest() const { return newest_; }
  // Of the same rings: records that could not be decoded, and bytes behind a record with an impossible size.
  std::uint64_t undecoded() const { return undecoded_; }
  std::uint64_t cut_bytes() const { return cut_bytes_; }

 private:
  void note_times(const capture::Intake& decoded);

  std::map<capture::RingIndex, capture::RecordDecoder> decoders_;
  std::set<capture::RingIndex> sampling_;
  std::optional<clock::Conversion> perf_clock_;
  NewestTimes newest_;
  std::uint64_t undecoded_ = 0, cut_bytes_ = 0;
};

}  // namespace tailor::pipeline
