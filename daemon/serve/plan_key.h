// Plans of a store, and what is the same in them.
#pragma once

#include <compare>
#include <cstdint>
#include <map>

#include "daemon/store/catalogue.h"
#include "proto/base/ids.h"

namespace tailor::serve {

struct PlanKey {
  store::RecordingNumber recording = 0;
  ProcessId process;
  PlanId plan = 0;
  auto operator<=>(const PlanKey&) const = default;
};
// As plan_shape.h has them, of those that could be read.
using PlanShapes = std::map<PlanKey, std::uint64_t>;

}  // namespace tailor::serve
