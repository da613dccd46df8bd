// The one place that decides to whom a sample's cost goes in a report.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/profile.h"

namespace tailor::query {

// What shares within a plan are parts of: the plan's own time, or everything in the selection.
enum class Base { kPlan, kEverything };

// What a report speaks of. Nothing set: everything in the profile.
struct Selection {
  std::optional<ProcessId> process;
  std::set<InProcess<ExecutionHandle>> executions;  // empty: all, and what was outside of any
  std::optional<std::uint16_t> source;              // default: default_source()
  Base base = Base::kPlan;
};

// A sum of samples of one source. Fractions come from shared costs.
struct Amount {
  double samples = 0;
  double weight = 0;    // in the unit of the source
  double kernel = 0;    // weight of those in kernel mode
  double inferred = 0;  // weight of those whose location was inferred
  double shared = 0;    // weight of those split between several owners
  double cpu = 0;       // ns of CPU time, where the weight is elapsed time (time/elapsed_time.h); else 0

  void add(const Cell& cell, const CellKey& key, double part, bool is_shared);
  void add(const Amount& other);
};

// Why a cost has no operator: a Reason, or one of those that only the dictionary can tell.
struct NoOwner {
  std::string_view key, text;
};

// What a plan would have to be followed through for so long that a hostile one was meant.
inline constexpr NoOwner kLineageTooLarge = {"lineage_too_large",
                                             "generated code of more owners than can be followed"};

// One cell and what became of it.
struct Cost {
  const CellKey& key;  // under the leader of the execution, where it has one
  const Cell& cell;
  const CellKey& own_key;  // of the cell in the profile
  enum class Class { kPlan, kComponent, kUnattributed } what = Class::kUnattributed;
  const PlanModel* plan = nullptr;               // kPlan
  const std::vector<Owners>* lineage = nullptr;  // kPlan: on every level from the top to the cell's own
  NoOwner reason = {};                           // kUnattributed; kPlan: of the part that no operator owns
};

// Whether the selection has samples of that process and execution.
bool selected(const Selection& selection, ProcessId process, ExecutionHandle execution);

// Where what samples name is looked up; null: not known.
struct Dictionaries {
  std::function<const PlanModel*(ProcessId, PlanId)> plan;
  std::function<const LinkSets*(ProcessId, CodeId)> link_sets;  // of a code object's rows
};
Dictionaries dictionaries_of(const Profile& profile);  // which must outlive it

// Calls `use` for every cell, of whatever source. References are valid during the call.
void for_each_cost(const Dictionaries& known, const Cells& cells,
                   const std::function<void(const Cost&)>& use);
// For every cell of the selection's source.
void for_each_cost(const Profile& profile, const Selection& selection, std::uint16_t source,
                   const std::function<void(const Cost&)>& use);

// The same of the samples in executions, one execution after the other: its workers are a part of it. `next`
// is called after the last cell of each.
void for_each_cost_by_execution(const Profile& profile, const Selection& selection, std::uint16_t source,
                                const std::function<void(const Cost&)>& use,
                                const std::function<void()>& next);

// The source a report shows unless told otherwise: of those that have samples in the selection, the first
// that measures time on CPU, else the first that does not measure time off it, else the first. None if
// nothing was sampled.
std::optional<std::uint16_t> default_source(const Profile& profile, const Selection& selection);

// Samples per source, for the selection.
std::map<std::uint16_t, Cell> totals_by_source(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
