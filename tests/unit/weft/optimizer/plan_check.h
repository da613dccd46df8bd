// Checks what every physical plan promises, whatever the query.
#pragma once

#include <string>

#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

// Empty if the plan is sound; else the first broken promise: a unit used that no input provides, an output
// nobody computes, numbers that are not dense, keys of different types, a missing estimate.
std::string broken_promise(const Plan& plan);

}  // namespace tailor::weft
