// What may be asked of the optimizer.
#pragma once

namespace tailor::weft {

struct PlannerOptions {
  bool groupjoin = true;  // fuse a join and the grouping above it where that is possible
};

}  // namespace tailor::weft
