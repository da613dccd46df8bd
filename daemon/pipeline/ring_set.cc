#include "daemon/pipeline/ring_set.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "daemon/clock/perf_time.h"

namespace tailor::pipeline {

Status RingSet::open(const capture::RingLayout& layout) {
  if (layout.clock != capture::RecordClock::kMonotonicRaw && !perf_clock_) {
    return invalid(fmt::format(
        "ring {}: its records are stamped by perf's own clock, which is not known here", layout.ring));
  }
  const auto known = decoders_.find(layout.ring);
  if (known != decoders_.end()) return known->second.update(layout);
  auto decoder = capture::RecordDecoder::create(layout);
  if (!decoder.ok()) return decoder.error();
  decoders_.emplace(layout.ring, std::move(*decoder));
  if (layout.pid != capture::kOfKernelCode) sampling_.insert(layout.ring);
  return Ok{};
}

Status RingSet::set_perf_clock(const clock::Conversion& line) {
  if (line.mult == 0 || line.shift > 63) return invalid("perf's own clock: a line without a rate");
  perf_clock_ = line;
  return Ok{};
}

void RingSet::close(capture::RingIndex ring) {
  decoders_.erase(ring);
  sampling_.erase(ring);
}

const capture::RingLayout* RingSet::decode(const capture::RingChunk& chunk, const clock::Timeline& timeline,
                                           capture::Intake& out) {
  const auto known = decoders_.find(chunk.ring);
  if (known == decoders_.end()) return nullptr;
  const capture::DecodeCounts before = known->second.counts();
  known->second.decode(chunk.bytes, out);
  const capture::DecodeCounts& after = known->second.counts();
  undecoded_ += after.malformed + after.unknown_id - before.malformed - before.unknown_id;
  cut_bytes_ += after.cut_bytes - before.cut_bytes;
  if (known->second.layout().clock == capture::RecordClock::kPerf) {
    for (capture::Arrival& arrival : out.order) {
      if (arrival.time == 0) continue;  // the record carries no time
      arrival.time = clock::perf_to_ns(*perf_clock_, timeline, static_cast<std::uint64_t>(arrival.time));
      if (!arrival.packed()) out.batch.events[arrival.at].time = arrival.time;
    }
  }
  note_times(out);
  return &known->second.layout();
}

void RingSet::note_times(const capture::Intake& decoded) {
  newest_.sample_of_chunk = kTimeMin;
  for (const capture::Arrival& arrival : decoded.order) {
    newest_.record = std::max(newest_.record, arrival.time);
    const bool is_sample =
        arrival.packed() || decoded.batch.events[arrival.at].kind == capture::Kind::kSample;
    if (is_sample) newest_.sample_of_chunk = std::max(newest_.sample_of_chunk, arrival.time);
  }
  newest_.sample = std::max(newest_.sample, newest_.sample_of_chunk);
}

}  // namespace tailor::pipeline
