// The lane beside a plan report: time off the CPU, by operator. Never added to time on the CPU.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

struct WaitRow {
  ProcessId process;
  PlanId plan = 0;
  ComponentId operator_id = kNoComponent;  // kNoComponent: of no operator
  std::string name;                        // of the operator, or why there is none
  double waits = 0;                        // how often
  double ns = 0;
  std::array<double, profile::kWaits> ns_of{};  // of `ns`, by profile::Wait
  // Of `ns`, by what the engine itself said that it waited for; and by profile::Wait where it said nothing.
  std::map<std::string, double> ns_of_event;
  std::array<double, profile::kWaits> ns_without_event{};
};

struct WaitLane {
  profile::Source source;
  WaitRow total;
  std::vector<WaitRow> rows;  // longest first
};

// "run_queue", "lock" ...: what reports call a reason to be off the CPU.
std::string_view wait_key(profile::Wait wait);

// None where the selection has no samples of time off the CPU.
std::optional<WaitLane> wait_lane(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
