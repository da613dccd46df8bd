// How many messages a second the agents of one user may send. Beyond that they are read later, not dropped:
// their own queues fill, and their agents count what they drop themselves.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

namespace tailor::registration {

// One thread. Users who are silent for a second are forgotten.
class UserMessages {
 public:
  using Clock = std::chrono::steady_clock;

  // 0: no limit. A user who was silent may send as much at once as in a second.
  explicit UserMessages(std::uint64_t a_second) : a_second_(a_second) {}

  // Whether messages of that user may be read now.
  bool may(std::uint32_t uid, Clock::time_point now);
  void read(std::uint32_t uid, std::size_t messages);

 private:
  struct User {
    double left = 0;
    Clock::time_point at{};
  };
  std::uint64_t a_second_;
  std::map<std::uint32_t, User> users_;
  Clock::time_point swept_{};
};

}  // namespace tailor::registration
