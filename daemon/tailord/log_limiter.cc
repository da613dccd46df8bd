#include "daemon/tailord/log_limiter.h"

#include <algorithm>
#include <utility>

namespace tailor::tailord {

bool LogLimiter::take(Bucket& bucket, double most, double a_second, Clock::time_point now) {
  const double passed = std::chrono::duration<double>(now - bucket.at).count();
  bucket.left = std::min(most, bucket.left + std::max(0.0, passed) * a_second);
  bucket.at = now;
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

bool LogLimiter::may(std::int64_t source, Clock::time_point now, std::uint64_t& suppressed) {
  std::lock_guard lock(mutex_);
  if (sources_.size() >= kSources && !sources_.contains(source)) {
    // Those who were silent for long enough have nothing to remember but how much was suppressed.
    std::erase_if(sources_, [&](const auto& each) {
      return std::chrono::duration<double>(now - each.second.at).count() * kASecond > kAtOnce;
    });
    if (sources_.size() >= kSources) source = 0;
  }
  Bucket& bucket = sources_.try_emplace(source, Bucket{kAtOnce, now, 0}).first->second;
  if (!take(bucket, kAtOnce, kASecond, now) || !take(all_, kAtOnce * kAllTimes, kASecond * kAllTimes, now)) {
    ++bucket.suppressed;
    return false;
  }
  suppressed = std::exchange(bucket.suppressed, 0);
  return true;
}

}  // namespace tailor::tailord
