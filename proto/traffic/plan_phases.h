// The patterns of a plan in one run: what its components say of their use of memory (Access in
// tailor/v1/dictionary.proto), with the numbers of rows that were measured.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "proto/traffic/pattern.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::traffic {

// Numbers of a run. Each gives nothing where it is not known. They are called while plan_phases() runs.
struct RunNumbers {
  // Rows that a component of the top level handed on.
  std::function<std::optional<double>(std::uint32_t component)> rows_of = {};
  // Bytes of the regions of a kind, by its name and the component that owns it (0: it outlives plans).
  std::function<std::optional<double>(const std::string& region, std::uint32_t owner)> region_bytes = {};
};

// An access, by its place in the plan.
struct AccessAt {
  std::uint32_t level = 0;
  std::uint32_t component = 0;
  std::uint32_t access = 0;  // index into the component's accesses

  bool operator==(const AccessAt&) const = default;
};

// An access for which nothing can be predicted.
struct Unpredicted {
  AccessAt at = {};
  std::string reason = {};  // "the rows of component 3 are not known"
};

// What a component computes, without its misses.
struct Computed {
  std::uint32_t level = 0;
  std::uint32_t component = 0;
  std::optional<double> cycles = {};  // nothing: its rows are not known
};

struct PlanPhases {
  // In an order in which the pipelines may run. Phases without a pattern are left out.
  std::vector<Phase> phases = {};
  std::vector<std::vector<AccessAt>> accesses = {};  // of each phase and pattern
  std::vector<std::string> regions = {};             // names by Region.id
  // Each access of the plan is a pattern above or stands here.
  std::vector<Unpredicted> unpredicted = {};
  std::vector<Computed> computed = {};  // of components that say it
};

// The answer of check() about the result depends on the cache alone: patterns that no cache could be
// evaluated with are among `unpredicted`, and so are those beyond kMostPatternsOfPhase and kMostPatterns. A
// plan that does not fit together (it is from a file) does no harm. Work: in proportion to the plan. Any
// thread that may call `numbers`.
PlanPhases plan_phases(const v1::Plan& plan, const RunNumbers& numbers);

}  // namespace tailor::traffic
