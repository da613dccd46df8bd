// Of the executions of a view, those of the plan that cost most: what a comparison is of.
#pragma once

#include <cstdint>

#include "daemon/serve/view.h"
#include "proto/base/result.h"

namespace tailor::serve {

// Executions that ran other plans, and how many there were in all.
struct OtherPlans {
  std::uint64_t left_out = 0, all = 0;
};

// Chooses the executions of the most expensive plan, wherever it was registered, with samples or without: a
// side of a comparison may hold its loading, other queries, and other plans of the same query. Changes
// nothing where no log says whose samples these are. Not found if no sample is of a plan.
Result<OtherPlans> only_main_plan(View& view);

}  // namespace tailor::serve
