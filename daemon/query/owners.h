// Who owns the samples that views over time show: every cost of a profile as parts of numbered owners.
#pragma once

#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/query/costs.h"
#include "daemon/query/profile.h"

namespace tailor::query {

// The level of a plan that its pipelines are made of: what the plan says, else the second-lowest.
LevelIndex task_level(const PlanModel& model);

struct Owner {
  std::string key;   // as of keys.h
  std::string name;  // may be hostile
  std::string kind;  // of an operator or task what the engine calls it; "component", "unattributed"
};

struct OwnerPart {
  std::uint32_t owner = 0;     // index into owners()
  std::uint32_t pipeline = 0;  // in which it worked; 0: unknown, or outside of plans
  double part = 1;             // of the sample; the parts of a cell add up to 1
};

enum class OwnedBy { kOperator, kTask };

// Immutable. The profile must outlive it.
class OwnerTable {
 public:
  // Of the selection's cells of one source.
  OwnerTable(const Profile& profile, const Selection& selection, std::uint16_t source, OwnedBy by);

  const std::vector<Owner>& owners() const { return owners_; }
  // Null for a cell that is not selected. `key` is that of a TimedSample of the profile.
  const std::vector<OwnerPart>* parts(const CellKey* key) const;

 private:
  std::uint32_t number(Owner owner);
  void add(const Profile& profile, const Cost& cost, OwnedBy by);
  void add_plan_cost(const Cost& cost, OwnedBy by, std::vector<OwnerPart>& parts);

  std::vector<Owner> owners_;
  std::map<std::string, std::uint32_t> numbers_;
  std::unordered_map<const CellKey*, std::vector<OwnerPart>> parts_;
};

}  // namespace tailor::query
