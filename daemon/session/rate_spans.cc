#include "daemon/session/rate_spans.h"

#include <algorithm>

namespace tailor::session {

bool RateSpans::begin(ProcessId process, TimeNs from, std::uint64_t frequency, const std::string& why) {
  const profile::RateSpan* before = open(process);
  if (before != nullptr && before->frequency == frequency && before->why == why) return false;
  end(process, from);
  const auto over = [](const profile::RateSpan& span) { return span.to != kTimeMax; };
  if (static_cast<std::size_t>(std::ranges::count_if(list_, over)) >= kMostOver)
    list_.erase(std::ranges::find_if(list_, over));
  list_.push_back({process, from, kTimeMax, frequency, why});
  return true;
}

bool RateSpans::end(ProcessId process, TimeNs to) {
  const auto found = std::ranges::find_if(
      list_, [&](const profile::RateSpan& span) { return span.process == process && span.to == kTimeMax; });
  if (found == list_.end()) return false;
  found->to = std::max(to, found->from);
  return true;
}

const profile::RateSpan* RateSpans::open(ProcessId process) const {
  const auto found = std::ranges::find_if(
      list_, [&](const profile::RateSpan& span) { return span.process == process && span.to == kTimeMax; });
  return found == list_.end() ? nullptr : &*found;
}

}  // namespace tailor::session
