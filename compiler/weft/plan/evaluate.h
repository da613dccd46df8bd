// Evaluates expressions outside of generated code: for constant folding and for counting on samples.
#pragma once

#include <functional>
#include <optional>

#include "compiler/weft/plan/expression.h"

namespace tailor::weft {

// The value of a unit, or null where it is not known.
using IuValues = std::function<const Value*(const Iu*)>;

// The value of the expression; nothing where a unit is unknown or a number overflows.
std::optional<Value> evaluate(const Expr& expr, const IuValues& values);

}  // namespace tailor::weft
