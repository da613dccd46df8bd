// What is known of the times of PEBS records on this host, while recordings come and go.
#pragma once

#include <functional>
#include <optional>

#include "daemon/clock/drain_times.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::session {

// One thread.
class PebsTimes {
 public:
  using Trial = std::function<Result<clock::RecordTimes>()>;
  // A kernel can take to drain times while it runs: when it loses its trust in the TSC.
  static constexpr TimeNs kInterval = 60'000'000'000;

  explicit PebsTimes(Trial trial) : trial_(std::move(trial)) {}

  // The verdict of a trial that is at most kInterval old: of a new one if need be. "The drain's" is final. A
  // trial without a verdict (the host was busy) leaves an earlier one in force.
  const Result<clock::RecordTimes>& verdict(TimeNs now);
  // Recorded batches have shown it.
  void convict() { verdict_ = clock::RecordTimes::kDrain; }

 private:
  Trial trial_;
  std::optional<Result<clock::RecordTimes>> verdict_;
  TimeNs tried_ = 0;
};

}  // namespace tailor::session
