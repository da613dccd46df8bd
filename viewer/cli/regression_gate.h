// `tailor diff --fail-if`: conditions under which a comparison fails, for regression gates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/compare.h"
#include "proto/base/result.h"

namespace tailor::cli {

struct Condition {
  enum class Of { kTotal, kAnyOperator, kPlan } of = Of::kTotal;
  double growth = 0;  // 0.05: by more than 5 %
  std::string text;   // as the user wrote it
};

// "total>5%", "operator>10%", "plan". Fails for anything else; the message lists what there is.
Result<Condition> parse_condition(std::string_view text);

// Why the condition holds; "" if it does not. A cost has grown by more than the limit if it has with a
// confidence of 95 %. `a_parts`, `b_parts`: executions of the two sides.
std::string why_it_holds(const Condition& condition, const query::Comparison& both, double a_parts,
                         double b_parts);

}  // namespace tailor::cli
