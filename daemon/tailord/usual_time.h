// How long a query runs usually.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "proto/base/ids.h"

namespace tailor::tailord {

class UsualTime {
 public:
  static constexpr std::size_t kLeast = 20, kMost = 64;
  static constexpr TimeNs kFor = TimeNs{7} * 24 * 3600 * 1'000'000'000;

  // A run that ended at that time, in any order.
  void add(TimeNs ended, TimeNs elapsed);
  // The median of the last runs, the newest kMost, that ended in the time kFor before `now`: a few slow ones
  // do not change it. Nothing where these are less than kLeast.
  std::optional<TimeNs> get(TimeNs now) const;

 private:
  struct EndedRun {
    TimeNs ended = 0, elapsed = 0;
  };
  std::array<EndedRun, kMost> last_{};
  std::size_t count_ = 0;  // kMost at most
};

}  // namespace tailor::tailord
