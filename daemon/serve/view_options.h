// What may be said beside a view, of those that have more to say than a number (request.h).
#pragma once

#include <cstddef>
#include <cstdint>

#include "daemon/query/reports/operator_bounds.h"
#include "daemon/query/time/timeline.h"

namespace tailor::serve {

struct TimelineRequest {
  std::uint32_t buckets = 200;
  query::Lanes lanes = query::Lanes::kPipeline;
  query::OwnedBy by = query::OwnedBy::kOperator;
};

// What the shares of a profile are parts of.
enum class SharesOf { kPlan, kEverything, kElapsed };

struct FunctionsRequest {
  std::size_t nodes = 1200;  // of each tree
};

struct BoundsRequest {
  std::uint64_t cache_bytes = 0;
  query::ThreadRates rates = {};
};

}  // namespace tailor::serve
