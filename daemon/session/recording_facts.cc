#include "daemon/session/recording_facts.h"

#include <algorithm>
#include <utility>

namespace tailor::session {

void RecordingFacts::begin(profile::RecordingInfo info) {
  info_ = std::move(info);
  tell();
}

void RecordingFacts::clock(const std::string& source, std::uint64_t error_ns) {
  if (source == info_.clock_source && error_ns <= info_.clock_error_ns) return;
  info_.clock_source = source;
  info_.clock_error_ns = error_ns;
  tell();
}

// What is heard of from then on has the new time.
void RecordingFacts::wall_clock(std::optional<std::uint64_t> at_start_ns) {
  if (!at_start_ns) return;
  info_.wall_clock_ns = *at_start_ns;
  tell();
}

void RecordingFacts::cpu_times(CpuAccounts& accounts) {
  accounts.tell(info_);
  tell();
}

void RecordingFacts::pauses(const std::vector<profile::Pause>& pauses) {
  info_.pauses = pauses;
  tell();
}

void RecordingFacts::rates(const std::vector<profile::RateSpan>& rates) {
  info_.rates = rates;
  tell();
}

void RecordingFacts::opened(const std::vector<profile::Source>& sources, TimeNs adds_up) {
  if (info_.sources.size() != sources.size()) info_.sources = sources;
  info_.aggregated_ns = std::max(info_.aggregated_ns, static_cast<std::uint64_t>(adds_up));
}

void RecordingFacts::sampling_notes(const std::vector<std::string>& notes) {
  std::string joined;
  for (const std::string& note : notes) joined += (joined.empty() ? "" : "; ") + note;
  if (std::exchange(info_.sampling_notes, joined) == joined && told_sources_ == info_.sources.size()) return;
  told_sources_ = info_.sources.size();
  tell();
}

}  // namespace tailor::session
