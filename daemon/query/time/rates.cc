#include "daemon/query/time/rates.h"

#include <fmt/format.h>

#include "daemon/query/time/spans.h"

namespace tailor::query {

std::vector<profile::RateSpan> rates_of(const Profile& profile, const Selection& selection) {
  return those_that_concern(profile, selection, profile.recording().rates);
}

std::string rates_text(const profile::RecordingInfo& recording, const std::vector<profile::RateSpan>& rates) {
  std::string out;
  for (std::size_t i = 0; i < rates.size() && i < kMostSpansTold; ++i) {
    const profile::RateSpan& rate = rates[i];
    out += out.empty() ? "" : "; ";
    out += fmt::format("process {} was sampled at {} Hz {}: {}", rate.process.pid, rate.frequency,
                       when_text(recording, rate), rate.why);
  }
  if (rates.size() > kMostSpansTold)
    out += fmt::format("; {} more such times", rates.size() - kMostSpansTold);
  return out;
}

}  // namespace tailor::query
