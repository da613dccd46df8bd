// The thread ids of a pid namespace below ours, in ours.
//
// Only /proc knows them, and it knows them the other way round: to find one, all threads of the process would
// have to be asked. So each is asked once, when it is first seen; an id that nobody has costs a look at the
// list of threads, and those looks are rationed, for an engine may ask for ids without end.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "proto/base/result.h"

namespace tailor::registration {

// One thread.
class ThreadIds {
 public:
  using Clock = std::chrono::steady_clock;

  // `tasks`: /proc/PID/task.
  explicit ThreadIds(std::string tasks) : tasks_(std::move(tasks)) {}

  // The thread that has this id in its own namespace; 0 if there is none (any more), or too many were asked
  // for that are not there. `now` only says how long ago the last look was.
  std::int32_t outer_of(std::int32_t inner, Clock::time_point now);

  // Files that were opened so far: the work done.
  std::uint64_t files_read() const { return files_read_; }

 private:
  struct Known {
    std::int32_t outer = 0;
    Clock::time_point seen{};
  };
  bool is_still(std::int32_t outer, std::int32_t inner);
  void look(Clock::time_point now);

  static constexpr int kLooksAtOnce = 64;
  static constexpr auto kLookEvery = std::chrono::milliseconds(20);
  static constexpr auto kBelieved =
      std::chrono::milliseconds(100);  // then it is asked whether it is still there

  std::string tasks_;
  std::map<std::int32_t, Known> by_inner_;
  std::map<std::int32_t, std::int32_t> inner_by_outer_;
  int looks_left_ = kLooksAtOnce;
  Clock::time_point refilled_{};
  std::uint64_t files_read_ = 0;
};

}  // namespace tailor::registration
