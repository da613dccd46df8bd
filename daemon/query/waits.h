// The lane beside a plan report: time off the CPU, by operator. Never added to time on the CPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/query/costs.h"
#include "daemon/query/profile.h"

namespace tailor::query {

struct WaitRow {
  ProcessId process;
  PlanId plan = 0;
  ComponentId operator_id = kNoComponent;  // kNoComponent: of no operator
  std::string name;                        // of the operator, or why there is none
  double waits = 0;                        // how often
  double ns = 0;
  double runnable_ns = 0;  // of these, taken off the CPU while it could have gone on: it waited for a CPU
};

struct WaitLane {
  capture::Source source;
  WaitRow total;
  std::vector<WaitRow> rows;  // longest first
};

// None where the selection has no samples of time off the CPU.
std::optional<WaitLane> wait_lane(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
