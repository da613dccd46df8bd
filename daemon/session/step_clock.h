// How long the steps of a thread take that many wait for. A step is what it does between two waits: it works,
// or it is blocked, by a file or by a lock. Time in the run queue does not count: then others have the CPU.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "daemon/os/os.h"
#include "daemon/os/queue_time.h"

namespace tailor::session {

// The longest of the steps of the last minute, to the second.
class LongestOfMinute {
 public:
  void add(TimeNs end, TimeNs took);
  TimeNs get(TimeNs now) const;

 private:
  static constexpr int kSeconds = 60;
  static constexpr TimeNs kSecondNs = 1'000'000'000;
  struct Second {
    TimeNs number = kTimeMin;
    TimeNs longest = 0;
  };
  std::array<Second, kSeconds> seconds_{};
};

// One thread.
class StepClock {
 public:
  static constexpr TimeNs kTooLong = 20'000'000;  // no stranger may make a step take longer

  explicit StepClock(os::Os& os) : os_(os) {}

  void begin();
  // Without begin() it counts nothing.
  void end();
  TimeNs longest() const { return longest_.get(os_.now()); }
  // How many took longer than kTooLong.
  std::uint64_t too_long() const { return too_long_; }

 private:
  os::Os& os_;
  std::optional<os::QueueTime> queue_;  // from the first begin() on
  std::optional<TimeNs> began_;
  std::uint64_t queued_ = 0;  // when it began
  LongestOfMinute longest_;
  std::uint64_t too_long_ = 0;
};

}  // namespace tailor::session
