// Keeps those who can make the daemon log from filling a disk with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace tailor::tailord {

// Of each source a few lines at once and then one a second, of all sources together ten times as many. Any
// threads.
class LogLimiter {
 public:
  using Clock = std::chrono::steady_clock;

  // Whether a line about `source` may be written at `now`; `suppressed` is how many were not since the last
  // one that was.
  bool may(std::int64_t source, Clock::time_point now, std::uint64_t& suppressed);

 private:
  struct Bucket {
    double left = 0;
    Clock::time_point at{};
    std::uint64_t suppressed = 0;
  };
  static bool take(Bucket& bucket, double most, double a_second, Clock::time_point now);

  static constexpr double kAtOnce = 10, kASecond = 1;
  static constexpr double kAllTimes = 10;
  static constexpr std::size_t kSources = 1024;

  std::mutex mutex_;
  std::map<std::int64_t, Bucket> sources_;
  Bucket all_{kAtOnce * kAllTimes, {}, 0};
};

}  // namespace tailor::tailord
