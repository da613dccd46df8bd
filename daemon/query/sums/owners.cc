#include "daemon/query/sums/owners.h"

#include "daemon/query/sums/keys.h"

namespace tailor::query {
namespace {

Owner unattributed(const NoOwner& reason) {
  return {unattributed_key(reason.key), std::string(reason.text), "unattributed"};
}

Owner component_owner(const PlanModel& plan, LevelIndex level, ComponentId id, std::string key) {
  const v1::Component* described = plan.component(level, id);
  return {std::move(key), plan.component_name(level, id), described == nullptr ? "" : described->kind(),
          plan.component_detail(level, id)};
}

}  // namespace

LevelIndex task_level(const PlanModel& model) {
  if (model.plan().pipelines_size() > 0) return model.plan().pipelines(0).task_level();
  return model.level_count() >= 2 ? model.level_count() - 2 : 0;
}

OwnerTable::OwnerTable(const Profile& profile, const Selection& selection, std::uint16_t source, OwnedBy by) {
  for_each_cost(profile, selection, source, [&](const Cost& cost) { add(profile, cost, by); });
}

const std::vector<OwnerPart>* OwnerTable::parts(const CellKey* key) const {
  const auto found = parts_.find(key);
  return found == parts_.end() ? nullptr : &found->second;
}

std::uint32_t OwnerTable::number(Owner owner) {
  const auto [at, added] = numbers_.try_emplace(owner.key, static_cast<std::uint32_t>(owners_.size()));
  if (added) owners_.push_back(std::move(owner));
  return at->second;
}

std::uint32_t OwnerTable::number(const Cost& cost, LevelIndex level, ComponentId id) {
  const auto [at, added] = component_numbers_.try_emplace({cost.key.process, cost.key.plan, level, id}, 0);
  if (added) {
    std::string key = level > 0 ? task_key(cost.key.process, cost.key.plan, id)
                                : operator_key(cost.key.process, cost.key.plan, id);
    at->second = number(component_owner(*cost.plan, level, id, std::move(key)));
  }
  return at->second;
}

void OwnerTable::add(const Profile& profile, const Cost& cost, OwnedBy by) {
  std::vector<OwnerPart>& parts = parts_[&cost.own_key];
  if (cost.what == Cost::Class::kUnattributed) {
    parts = {{number(unattributed(cost.reason)), 1}};
    return;
  }
  if (cost.what == Cost::Class::kComponent) {
    const std::uint32_t id = cost.key.engine_component;
    parts = {{number({component_key(cost.key.process, id),
                      profile.engine_component_name(cost.key.process, id), "component"}),
              1}};
    return;
  }
  add_plan_cost(cost, by, parts);
}

void OwnerTable::add_plan_cost(const Cost& cost, OwnedBy by, std::vector<OwnerPart>& parts) {
  const PlanModel& plan = *cost.plan;
  // Tasks that lead to the same operators add up.
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> sums;  // by owner and pipeline
  const auto add = [&](LevelIndex level, ComponentId id, std::uint32_t pipeline, double part) {
    const std::uint32_t owner =
        id == kNoComponent ? number(unattributed(cost.reason)) : number(cost, level, id);
    sums[{owner, pipeline}] += part;
  };
  add_up(plan, cost, by, add);
  if (steps_ > kMostSteps || parts_kept_ + sums.size() > kMostParts) {
    parts = {{number(unattributed(kLineageTooLarge)), cost.key.pipeline, 1}};
    ++parts_kept_;
    return;
  }
  parts.reserve(sums.size());
  for (const auto& [key, part] : sums) parts.push_back({key.first, key.second, part});
  parts_kept_ += parts.size();
}

template <typename Add>
void OwnerTable::add_up(const PlanModel& plan, const Cost& cost, OwnedBy by, const Add& add) {
  const LevelIndex level = task_level(plan);
  // What is known of an operator only stays the operator's where tasks are asked for.
  if (level >= cost.lineage->size()) {
    for (const Share& owner : cost.lineage->front()) add(0, owner.id, cost.key.pipeline, owner.part);
    return;
  }
  std::map<std::uint32_t, Owners> by_link;  // many tasks may be of the same operators
  for (const Share& task : (*cost.lineage)[level]) {
    if (++steps_ > kMostSteps) return;
    // A task that is part of one pipeline only says which; else the thread's log does.
    const std::uint32_t own = task.id == kNoComponent ? 0 : plan.pipeline_of(level, task.id);
    const std::uint32_t pipeline = own != 0 ? own : cost.key.pipeline;
    if (by == OwnedBy::kTask || level == 0 || task.id == kNoComponent) {
      add(level, task.id, pipeline, task.part);
      continue;
    }
    const v1::Level& tasks = plan.plan().levels(static_cast<int>(level));
    const bool linked = task.id <= static_cast<std::uint32_t>(tasks.links_size());
    const auto [known, added] = by_link.try_emplace(linked ? tasks.links(static_cast<int>(task.id - 1)) : 0);
    if (added) known->second = plan.owners_of(level, task.id, 0);
    const Owners& owners = known->second;
    steps_ += owners.size();
    for (const Share& owner : owners) add(0, owner.id, pipeline, task.part * owner.part);
  }
}

}  // namespace tailor::query
