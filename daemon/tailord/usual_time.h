// How long a query runs usually.
#pragma once

#include <array>
#include <cstddef>
#include <optional>

#include "proto/base/ids.h"

namespace tailor::tailord {

class UsualTime {
 public:
  static constexpr std::size_t kLeast = 5, kMost = 32;

  // A run that has ended.
  void add(TimeNs elapsed) {
    last_[count_ % kMost] = elapsed;
    ++count_;
  }
  // The median of the last runs, kMost at most: a few slow ones do not change it. Nothing before kLeast runs.
  std::optional<TimeNs> get() const;

 private:
  std::array<TimeNs, kMost> last_{};
  std::size_t count_ = 0;
};

}  // namespace tailor::tailord
