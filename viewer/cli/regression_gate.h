// `tailor diff --fail-if`: conditions under which a comparison fails, for regression gates.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/reports/compare.h"
#include "proto/base/result.h"

namespace tailor::cli {

struct Condition {
  enum class Of { kTotal, kAnyOperator, kPlan } of = Of::kTotal;
  double growth = 0;  // 0.05: by more than 5 %
  std::string text;   // as the user wrote it
};

// "total>5%", "operator>10%", "plan". Fails for anything else; the message lists what there is.
Result<Condition> parse_condition(std::string_view text);

// What a comparison says of a condition. At most one of both has a text; neither: it does not hold.
struct Verdict {
  std::string holds;    // why it does
  std::string unknown;  // why nobody can tell
};

// A cost has grown by more than the limit if it has with a confidence of 95 %. Of operators there are many
// tests, and each might find growth by chance: they share the 5 % evenly (Bonferroni), so that 5 % is the
// chance that the condition holds though no operator grew so much. `a_parts`, `b_parts`: executions of the
// two sides.
//
// Nobody can tell where a cost has fewer than five effective samples on a side and did not surely grow. An
// operator that surely has less than a hundredth of the plan's own time on both sides does not matter then.
Verdict judge(const Condition& condition, const query::Comparison& both, double a_parts, double b_parts);

}  // namespace tailor::cli
