// How many threads of the host run or wait for a CPU.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <optional>
#include <string_view>

#include "proto/base/ids.h"

namespace tailor::tailord {

// The threads that run or could run, as the text of /proc/loadavg says (proc(5)). Nothing: no such text.
std::optional<std::uint64_t> runnable_threads(std::string_view loadavg);

// One thread. The average of looks at the kernel's count: one look says little, and the kernel's own averages
// count threads that wait for a disk, too.
class RunQueue {
 public:
  static constexpr TimeNs kEvery = 250'000'000;      // a look, at most
  static constexpr TimeNs kOver = 10'000'000'000;    // the average is of the looks of this time
  static constexpr TimeNs kAtLeast = 5'000'000'000;  // that lie so far apart, at least

  // `proc`: where /proc is mounted.
  explicit RunQueue(const std::filesystem::path& proc) : file_(proc / "loadavg") {}

  // Looks, if the last look is not of just now; to be called at every turn. The thread that calls does not
  // count. Nothing: not known (yet).
  std::optional<double> average(TimeNs now);

 private:
  struct Look {
    TimeNs at = 0;
    double threads = 0;
  };
  const std::filesystem::path file_;
  std::deque<Look> looks_;
};

}  // namespace tailor::tailord
