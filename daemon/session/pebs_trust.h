// Whether a recorder relies on the times of PEBS records: settled before a recording begins, and asked
// again while it runs.
#pragma once

#include <string>
#include <utility>

#include "daemon/capture/select/event_spec.h"
#include "daemon/session/live_clock.h"
#include "daemon/session/pebs_times.h"
#include "proto/base/ids.h"

namespace tailor::session {

// One thread.
class PebsTrust {
 public:
  // `clock` must outlive this.
  PebsTrust(const LiveClock& clock, PebsTimes::Trial trial) : clock_(clock), times_(std::move(trial)) {}

  // As settle_large_pebs().
  std::string settle(capture::CaptureOptions& options, TimeNs now);
  // To be called at every look at the clock.
  void note_clock(TimeNs now) {
    if (convertible()) clock_known_ = now;
  }
  // Why the times of records that are being taken can no longer be relied on; "" if they can.
  // `recorded_late`: their own testimony (Pipeline::pebs_times_doubted()).
  std::string doubt(bool recorded_late, TimeNs now);

 private:
  // Perf's own clock can be converted now.
  bool convertible() const { return clock_.model().perf_line().has_value(); }

  const LiveClock& clock_;
  PebsTimes times_;
  TimeNs clock_known_ = kTimeMin;  // when perf's own clock was last
};

}  // namespace tailor::session
