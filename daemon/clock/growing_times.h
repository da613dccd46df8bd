// Converts many TSC values of which each lies near the one before it.
#pragma once

#include <cstdint>

#include "daemon/clock/conversion.h"
#include "daemon/clock/timeline.h"

namespace tailor::clock {

// Converts TSC values as Timeline::to_ns() does, with little work where each lies near the one before it. Not
// beyond a change of the timeline.
class GrowingTimes {
 public:
  explicit GrowingTimes(const Timeline& timeline) : timeline_(timeline) {}

  TimeNs to_ns(std::uint64_t tsc) {
    if (piece_ == nullptr || tsc < piece_->from_tsc || tsc >= until_) look_for(tsc);
    return piece_ == nullptr ? kTimeMin : clock::to_ns(*piece_, tsc);
  }

 private:
  void look_for(std::uint64_t tsc) {
    if (timeline_.empty()) return;
    piece_ = &timeline_.at(tsc);
    const Conversion* next = piece_ + 1;
    until_ = next == timeline_.pieces().data() + timeline_.pieces().size() ? UINT64_MAX : next->from_tsc;
  }

  const Timeline& timeline_;
  const Conversion* piece_ = nullptr;
  std::uint64_t until_ = 0;  // where the next piece begins
};

}  // namespace tailor::clock
