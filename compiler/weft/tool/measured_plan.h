// A plan with what was measured of it: estimates and rows by weft itself, time and samples by tailord.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "compiler/weft/plan/operator.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::weft {

struct MeasuredCost {
  double samples = 0;  // fractions come from shared costs
  double cpu_ns = 0;
  double share = 0, share_low = 0, share_high = 0;  // of all samples of the executions; 95 % interval
};

struct MeasuredOperator {
  ComponentId id = 0;
  std::string name, kind, details;
  std::uint32_t depth = 0;
  bool last = true;  // of its siblings
  double estimated_rows = 0;
  std::uint64_t rows = 0;  // of all executions
  MeasuredCost cost;
};

struct MeasuredPlan {
  std::uint64_t executions = 0;
  std::int64_t wall_ns = 0, cpu_ns = 0;     // of all executions, by the engine's clocks
  std::uint64_t result_rows = 0;            // of one execution
  MeasuredCost total;                       // operators + engine + unattributed
  std::vector<MeasuredOperator> operators;  // in the order of the drawn tree
  MeasuredCost engine;                      // work of the engine that is no operator
  std::vector<std::pair<std::string, MeasuredCost>> engine_parts;
  MeasuredCost unattributed;
  std::vector<std::pair<std::string, MeasuredCost>> unattributed_parts;  // by reason
  double inferred_share = 0, lost_share = 0;
  std::uint64_t lost_samples = 0;  // of the daemon's whole recording
};

// The operators of `plan` without costs, `rows` by operator id.
MeasuredPlan describe_plan(const Plan& plan, const std::vector<std::uint64_t>& rows);
// Adds the costs of a report (docs/report-json.md) on executions of that plan alone. Fails if it is none.
Status add_report(const std::string& json, MeasuredPlan& out);

std::string to_text(const MeasuredPlan& plan);
// One object; keys in docs/weft-sql.md.
std::string to_json(const MeasuredPlan& plan);

}  // namespace tailor::weft
