// How many messages a second the agents of one user may send. Beyond that they are read later, not dropped:
// their own queues fill, and their agents count what they drop themselves. Each process of the user has an
// even part of its own, so that one that sends without end does not delay the others. The rest is for a user
// who sends more.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

namespace tailor::registration {

// One thread. Users and processes that nobody asked about for a second are forgotten.
class UserMessages {
 public:
  using Clock = std::chrono::steady_clock;

  // 0: no limit. A user who was silent may send as much at once as in a second.
  explicit UserMessages(std::uint64_t a_second) : a_second_(a_second) {}

  // Whether messages of that process of the user may be read now. Ask for every process that is connected:
  // their number decides how large the parts are.
  bool may(std::uint32_t uid, std::uint64_t process, Clock::time_point now);
  void read(std::uint32_t uid, std::uint64_t process, std::size_t messages);

 private:
  struct Budget {
    double left = 0;
    Clock::time_point at{};

    // What came since, and never more than in a second.
    void refill(double a_second, Clock::time_point now);
  };
  struct User {
    Budget all;
    std::map<std::uint64_t, Budget> processes;
  };

  void sweep(Clock::time_point now);

  std::uint64_t a_second_;
  std::map<std::uint32_t, User> users_;
  Clock::time_point swept_{};
};

}  // namespace tailor::registration
