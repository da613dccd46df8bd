#include "daemon/capture/decode/throttle_gaps.h"

namespace tailor::capture {

std::vector<ThrottleGap> ThrottleGaps::add(const RingLayout& layout, const Event& event) {
  std::vector<ThrottleGap> ended;
  if (event.kind == Kind::kThrottle) {
    auto [ring, fresh] = rings_.try_emplace(layout.ring);
    if (fresh) ring->second = {layout.pid, layout.cpu, event.time, {}};
    ring->second.stopped[event.data_source] = event.tid;
  } else if (event.kind == Kind::kUnthrottle) {
    const auto ring = rings_.find(layout.ring);
    if (ring == rings_.end()) return ended;
    ring->second.stopped.erase(event.data_source);
    if (ring->second.stopped.empty()) {
      ended.push_back(ring->second.until(event.time));
      rings_.erase(ring);
    }
  } else if (event.kind == Kind::kExit) {
    for (auto ring = rings_.begin(); ring != rings_.end();) {
      std::erase_if(ring->second.stopped, [&](const auto& stopped) { return stopped.second == event.tid; });
      if (!ring->second.stopped.empty()) {
        ++ring;
        continue;
      }
      ended.push_back(ring->second.until(event.time));
      ring = rings_.erase(ring);
    }
  }
  return ended;
}

std::vector<ThrottleGap> ThrottleGaps::close(RingIndex ring, TimeNs time) {
  const auto found = rings_.find(ring);
  if (found == rings_.end()) return {};
  std::vector<ThrottleGap> ended = {found->second.until(time)};
  rings_.erase(found);
  return ended;
}

}  // namespace tailor::capture
