// The order in which peers are read when not all can be: those that cost least of late come first.
#pragma once

#include <chrono>
#include <cstddef>
#include <vector>

#include "daemon/registration/connection.h"

namespace tailor::registration {

// The cost of a connection counts half after a second. One thread.
class ReadingOrder {
 public:
  using Clock = std::chrono::steady_clock;

  // Debts, and what was said, fade with the time that has passed since the last call.
  void fade(const std::vector<Connection*>& connections, Clock::time_point now);
  // By what they cost in this respect, the smallest first.
  static void sort(std::vector<Connection*>& connections, double Connection::* cost);

 private:
  Clock::time_point faded_{};
};

}  // namespace tailor::registration
