#include "daemon/query/pauses.h"

#include <fmt/format.h>

#include <algorithm>

#include "daemon/query/wall_time.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMostTold = 5;

bool concerns(const Profile& profile, const Selection& selection, const profile::Pause& pause) {
  if (selection.process && *selection.process != pause.process) return false;
  if (selection.executions.empty()) return true;
  return std::ranges::any_of(selection.executions, [&](const auto& chosen) {
    if (chosen.first != pause.process) return false;
    const profile::ExecutionRecord* execution = profile.execution(chosen.first, chosen.second);
    return execution == nullptr || (pause.from < execution->end && execution->begin < pause.to);
  });
}

}  // namespace

std::vector<profile::Pause> pauses_of(const Profile& profile, const Selection& selection) {
  std::vector<profile::Pause> pauses;
  for (const profile::Pause& pause : profile.recording().pauses) {
    if (concerns(profile, selection, pause)) pauses.push_back(pause);
  }
  return pauses;
}

std::string pauses_text(const profile::RecordingInfo& recording, const std::vector<profile::Pause>& pauses) {
  std::string out;
  for (std::size_t i = 0; i < pauses.size() && i < kMostTold; ++i) {
    const profile::Pause& pause = pauses[i];
    const bool over = pause.to != kTimeMax;
    const std::uint64_t from = recording.wall_of(pause.from), to = over ? recording.wall_of(pause.to) : from;
    out += out.empty() ? "" : "; ";
    out += fmt::format("process {} was not sampled from {}{}: paused", pause.process.pid, local_time(from, 0),
                       over ? " to " + local_time(to, from) : " on");
  }
  if (pauses.size() > kMostTold) out += fmt::format("; {} more pauses", pauses.size() - kMostTold);
  return out;
}

}  // namespace tailor::query
