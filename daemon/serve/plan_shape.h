// Whether two plans are the same tree of operators, whatever process registered them and when.
#pragma once

#include <cstdint>

#include "daemon/query/load/plan_model.h"

namespace tailor::serve {

// Of the operators: what they are, and whose input is whose. Estimates and literals change nothing.
std::uint64_t plan_shape(const query::PlanModel& plan);

}  // namespace tailor::serve
