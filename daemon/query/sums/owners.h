// The owners of the samples that views over time show: every cost of a profile as parts of numbered owners.
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"

namespace tailor::query {

// The level of a plan that its pipelines are made of: what the plan says, else the second-lowest.
LevelIndex task_level(const PlanModel& model);

struct Owner {
  std::string key;          // as of keys.h
  std::string name;         // may be hostile
  std::string kind;         // of an operator or task what the engine calls it; "component", "unattributed"
  std::string detail = {};  // of an operator or task PlanModel::component_detail(); may be hostile
};

struct OwnerPart {
  std::uint32_t owner = 0;     // index into owners()
  std::uint32_t pipeline = 0;  // in which it worked; 0: unknown, or outside of plans
  double part = 1;             // of the sample; the parts of a cell add up to 1
};

// By function: each sample belongs to the function that it was in. Of timelines alone.
enum class OwnedBy { kOperator, kTask, kFunction };

// Immutable. The profile must outlive it.
class OwnerTable {
 public:
  // Of the selection's cells of one source; by operators or tasks.
  OwnerTable(const Profile& profile, const Selection& selection, std::uint16_t source, OwnedBy by);

  const std::vector<Owner>& owners() const { return owners_; }
  // Null for a cell that is not selected. `key` is that of a TimedSample of the profile.
  const std::vector<OwnerPart>* parts(const CellKey* key) const;

  // Parts that are kept, and steps from tasks to operators. Beyond, a cell has one part that says so.
  static constexpr std::size_t kMostParts = std::size_t{1} << 22, kMostSteps = std::size_t{1} << 24;
  std::size_t parts_kept() const { return parts_kept_; }

 private:
  std::uint32_t number(Owner owner);
  // Of the operator or task; looked up by what it is, without a key.
  std::uint32_t number(const Cost& cost, LevelIndex level, ComponentId id);
  void add(const Profile& profile, const Cost& cost, OwnedBy by);
  void add_plan_cost(const Cost& cost, OwnedBy by, std::vector<OwnerPart>& parts);
  template <typename Add>
  void add_up(const PlanModel& plan, const Cost& cost, OwnedBy by, const Add& add);

  std::vector<Owner> owners_;
  std::map<std::string, std::uint32_t> numbers_;
  std::map<std::tuple<ProcessId, PlanId, LevelIndex, ComponentId>, std::uint32_t> component_numbers_;
  std::size_t parts_kept_ = 0, steps_ = 0;
  std::unordered_map<const CellKey*, std::vector<OwnerPart>> parts_;
};

}  // namespace tailor::query
