#include "daemon/clock/timeline.h"

#include <algorithm>
#include <iterator>

#include "proto/base/errors.h"

namespace tailor::clock {
namespace {

constexpr std::uint32_t kMaxShift = 63;

Error bad_shift() {
  return {"clock conversion rejected: its shift is above 63"};
}

}  // namespace

Status Timeline::append(const Conversion& next) {
  if (next.shift > kMaxShift) return bad_shift();
  std::size_t keep = pieces_.size();
  while (keep > 0 && pieces_[keep - 1].from_tsc >= next.from_tsc) --keep;
  if (keep > 0 && next.base_ns < clock::to_ns(pieces_[keep - 1], next.from_tsc)) {
    return internal("clock conversion rejected: time would run backward");
  }
  pieces_.resize(keep);
  if (pieces_.size() == kKept) pieces_.erase(pieces_.begin());
  pieces_.push_back(next);
  return Ok{};
}

Status Timeline::restart(const Conversion& first) {
  if (first.shift > kMaxShift) return bad_shift();
  pieces_.assign(1, first);
  return Ok{};
}

const Conversion& Timeline::at(std::uint64_t tsc) const {
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), tsc,
                               [](std::uint64_t t, const Conversion& c) { return t < c.from_tsc; });
  return next == pieces_.begin() ? *next : *std::prev(next);
}

TimeNs Timeline::to_ns(std::uint64_t tsc) const {
  return pieces_.empty() ? kTimeMin : clock::to_ns(at(tsc), tsc);
}

std::uint64_t Timeline::to_tsc(TimeNs ns) const {
  if (pieces_.empty()) return 0;
  auto next = std::upper_bound(pieces_.begin(), pieces_.end(), ns,
                               [](TimeNs t, const Conversion& c) { return t < c.base_ns; });
  if (next == pieces_.begin()) return clock::to_tsc(*next, ns);
  const std::uint64_t tsc = clock::to_tsc(*std::prev(next), ns);
  // Rounding, and steps forward between two pieces, must not lead into the next piece.
  return next == pieces_.end() ? tsc : std::min(tsc, next->from_tsc - 1);
}

std::uint64_t Timeline::error_bound_ns(std::uint64_t tsc) const {
  return pieces_.empty() ? UINT64_MAX : clock::error_bound_ns(at(tsc), tsc);
}

}  // namespace tailor::clock
