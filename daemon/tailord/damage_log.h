// What of the store is damaged, for the log: another request for it is told again, and the log once an
// hour.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <mutex>
#include <string>

namespace tailor::tailord {

// Any thread.
class DamageLog {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::size_t kMostTexts = 64;  // in an hour: others are not written
  static constexpr std::chrono::hours kAgain{1};

  // Whether the text is to be written at `now`.
  bool may(const std::string& text, Clock::time_point now);

 private:
  std::mutex mutex_;
  std::map<std::string, Clock::time_point> written_;  // of the last hour
};

}  // namespace tailor::tailord
