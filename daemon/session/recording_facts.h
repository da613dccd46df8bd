// What a profile says of the recording as a whole. The pipeline is told each change as it happens.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/pipeline/input.h"
#include "daemon/profile/sink.h"
#include "daemon/session/cpu_accounts.h"
#include "proto/base/ids.h"

namespace tailor::session {

// Control thread only.
class RecordingFacts {
 public:
  // `input` must outlive this.
  explicit RecordingFacts(pipeline::Input& input) : input_(input) {}

  const profile::RecordingInfo& info() const { return info_; }

  void begin(profile::RecordingInfo info);
  // The worst clock so far (LiveClock).
  void clock(const std::string& source, std::uint64_t error_ns);
  // CLOCK_REALTIME at the start of the recording, where it was set meanwhile.
  void wall_clock(std::optional<std::uint64_t> at_start_ns);
  void cpu_times(CpuAccounts& accounts);
  void pauses(const std::vector<profile::Pause>& pauses);
  void rates(const std::vector<profile::RateSpan>& rates);
  // Events were opened with these sources. `adds_up`: a sample may stand for that long. Is told with the
  // sampling notes.
  void opened(const std::vector<profile::Source>& sources, TimeNs adds_up);
  // How processes are sampled, what could not be sampled, and why.
  void sampling_notes(const std::vector<std::string>& notes);

 private:
  void tell() { input_.on_recording(info_); }

  pipeline::Input& input_;
  profile::RecordingInfo info_;
  std::size_t told_sources_ = 0;  // with the sampling notes
};

}  // namespace tailor::session
