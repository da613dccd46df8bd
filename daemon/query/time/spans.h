// Times that something was otherwise with a process, as a recording lists them.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/query/sums/costs.h"
#include "daemon/query/time/wall_time.h"

namespace tailor::query {

inline constexpr std::size_t kMostSpansTold = 5;

// Whether a profile::Pause or RateSpan is of the selection's process, or of a time when one of its executions
// ran. Without either, all are.
template <typename Span>
bool concerns(const Profile& profile, const Selection& selection, const Span& span) {
  if (selection.process && *selection.process != span.process) return false;
  if (selection.executions.empty()) return true;
  return std::ranges::any_of(selection.executions, [&](const auto& chosen) {
    if (chosen.first != span.process) return false;
    const profile::ExecutionRecord* execution = profile.execution(chosen.first, chosen.second);
    return execution == nullptr || (span.from < execution->end && execution->begin < span.to);
  });
}

template <typename Span>
std::vector<Span> those_that_concern(const Profile& profile, const Selection& selection,
                                     const std::vector<Span>& spans) {
  std::vector<Span> chosen;
  std::ranges::copy_if(spans, std::back_inserter(chosen),
                       [&](const Span& span) { return concerns(profile, selection, span); });
  return chosen;
}

// "from 14:00:01 to 14:02:05", or "from 14:00:01 on".
template <typename Span>
std::string when_text(const profile::RecordingInfo& recording, const Span& span) {
  const std::uint64_t from = recording.wall_of(span.from);
  const bool over = span.to != kTimeMax;
  return "from " + local_time(from, 0) +
         (over ? " to " + local_time(recording.wall_of(span.to), from) : " on");
}

}  // namespace tailor::query
