#include "daemon/pipeline/pebs_watch.h"

#include <algorithm>

namespace tailor::pipeline {

void PebsWatch::add(capture::RingIndex ring, const capture::Intake& chunk) {
  std::vector<Lane>& lanes = rings_[ring];
  for (const capture::Arrival& arrival : chunk.order) {
    const capture::Event event = chunk.event(arrival);
    if (event.kind == capture::Kind::kSample && event.time != 0) add(lane_of(lanes, event.source), event);
  }
}

// A recording has few sources.
PebsWatch::Lane& PebsWatch::lane_of(std::vector<Lane>& lanes, std::uint16_t source) {
  const auto known = std::ranges::find(lanes, source, &Lane::source);
  if (known != lanes.end()) return *known;
  Lane& lane = lanes.emplace_back();
  lane.source = source;
  return lane;
}

void PebsWatch::add(Lane& lane, const capture::Event& event) {
  const auto time = static_cast<std::uint64_t>(event.time), last = static_cast<std::uint64_t>(lane.last);
  if (lane.last != 0 && lane.tid == event.tid) {
    lane.gaps.add(event.time < lane.last ? last - time : time - last, clock::shortest_count_ns(event.weight));
  }
  lane.tid = event.tid;
  lane.last = event.time;
  if (!lane.gaps.enough()) return;
  doubted_ = doubted_ || lane.gaps.verdict() != clock::RecordTimes::kOwn;
  lane.gaps = {};
}

}  // namespace tailor::pipeline
