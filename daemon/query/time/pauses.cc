#include "daemon/query/time/pauses.h"

#include <fmt/format.h>

#include "daemon/query/time/spans.h"

namespace tailor::query {

std::vector<profile::Pause> pauses_of(const Profile& profile, const Selection& selection) {
  return those_that_concern(profile, selection, profile.recording().pauses);
}

std::string pauses_text(const profile::RecordingInfo& recording, const std::vector<profile::Pause>& pauses) {
  std::string out;
  for (std::size_t i = 0; i < pauses.size() && i < kMostSpansTold; ++i) {
    out += out.empty() ? "" : "; ";
    out += fmt::format("process {} was not sampled {}: paused", pauses[i].process.pid,
                       when_text(recording, pauses[i]));
  }
  if (pauses.size() > kMostSpansTold) out += fmt::format("; {} more pauses", pauses.size() - kMostSpansTold);
  return out;
}

}  // namespace tailor::query
