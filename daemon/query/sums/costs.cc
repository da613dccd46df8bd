#include "daemon/query/sums/costs.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/query/sums/terms.h"

namespace tailor::query {
namespace {

constexpr NoOwner kDictionaryMissing = {"dictionary_missing", "query whose dictionary the profile lacks"};
constexpr NoOwner kEngineCode = {"code_of_no_query", "generated code of no query"};
constexpr NoOwner kPrologue = {"prologue", "set-up code of generated functions"};
constexpr NoOwner kUnmapped = {"unmapped", "generated code of unknown origin"};
constexpr NoOwner kTwoNames = {"two_names", "generated code whose address had two names"};
constexpr NoOwner kNoOperator = {"no_operator", "generated code that no operator owns"};

NoOwner no_operator(profile::Quality quality) {
  if (quality == profile::Quality::kPrologue) return kPrologue;
  if (quality == profile::Quality::kUnmapped) return kUnmapped;
  if (quality == profile::Quality::kTwoNames) return kTwoNames;
  return kNoOperator;
}

// Computes lineages once for all cells that share their link. Plans that make each lineage large cost no more
// than kMost entries of memory, and beyond kMostWork nothing more is computed.
class LineageCache {
 public:
  explicit LineageCache(const Dictionaries& known) : dictionaries_(known) {}

  // Nothing more is computed.
  bool exhausted() const { return made_ > kMostWork; }

  // Null where the sets that the link names are not in the profile, or exhausted(). Valid until the next
  // call.
  const std::vector<Owners>* of(const PlanModel& plan, const CellKey& key) {
    const bool names_set = (key.link & 1) != 0;
    const auto id = std::make_tuple(key.process, key.plan, names_set ? key.code : 0, key.level, key.link);
    const auto it = known_.find(id);
    if (it != known_.end()) return &it->second;
    static const LinkSets no_sets;
    const LinkSets* sets = &no_sets;
    if (key.code != 0) {
      const LinkSets* of_code = dictionaries_.link_sets(key.process, key.code);
      if (of_code == nullptr && names_set) return nullptr;
      if (of_code != nullptr) sets = of_code;
    } else if (key.level < plan.level_count()) {
      sets = &plan.plan().levels(static_cast<int>(key.level)).link_sets();
    }
    return exhausted() ? nullptr : &keep(id, plan.lineage(key.level, key.link, *sets));
  }

 private:
  using Id = std::tuple<ProcessId, PlanId, CodeId, LevelIndex, std::uint32_t>;
  static constexpr std::size_t kMost = 1u << 22, kMostWork = 1u << 24;

  const std::vector<Owners>& keep(const Id& id, std::vector<Owners> lineage) {
    std::size_t entries = 1;
    for (const Owners& owners : lineage) entries += owners.size();
    if (kept_ + entries > kMost) {
      known_.clear();
      kept_ = 0;
    }
    kept_ += entries;
    made_ += entries;
    return known_.emplace(id, std::move(lineage)).first->second;
  }

  const Dictionaries& dictionaries_;
  std::map<Id, std::vector<Owners>> known_;
  std::size_t kept_ = 0, made_ = 0;  // entries
};

void classify_plan(const Dictionaries& known, LineageCache& lineages, Cost& cost) {
  const CellKey& key = cost.key;
  if (key.plan == 0) {
    cost.reason = kEngineCode;
    if (key.engine_component != 0) cost.what = Cost::Class::kComponent;
    return;
  }
  cost.reason = kDictionaryMissing;
  const PlanModel* plan = known.plan(key.process, key.plan);
  if (plan == nullptr) return;
  const std::vector<Owners>* lineage = lineages.of(*plan, key);
  if (lineage == nullptr && lineages.exhausted()) cost.reason = kLineageTooLarge;
  if (lineage == nullptr || lineage->empty()) return;
  cost.what = Cost::Class::kPlan;
  cost.plan = plan;
  cost.lineage = lineage;
  cost.reason = no_operator(key.quality);
}

void classify(const Dictionaries& known, LineageCache& lineages, Cost& cost) {
  switch (cost.key.how) {
    case profile::How::kUnattributed: {
      const Term reason = term(cost.key.reason);
      cost.reason = {reason.key, reason.text};
      return;
    }
    case profile::How::kComponentInterval:
    case profile::How::kComponentCode:
      cost.what = Cost::Class::kComponent;
      return;
    default:
      classify_plan(known, lineages, cost);
  }
}

}  // namespace

bool selected(const Selection& selection, ProcessId process, ExecutionHandle execution) {
  return (!selection.process || process == *selection.process) &&
         (selection.executions.empty() || selection.executions.contains({process, execution}));
}

void Amount::add(const Cell& cell, const CellKey& key, double part, bool is_shared) {
  const double part_weight = cell.weight * part;
  samples += static_cast<double>(cell.samples) * part;
  weight += part_weight;
  if (key.kernel) kernel += part_weight;
  if (key.quality == profile::Quality::kInferred) inferred += part_weight;
  if (is_shared) shared += part_weight;
  cpu += cell.cpu * part;
}

void Amount::add(const Amount& other) {
  samples += other.samples;
  weight += other.weight;
  kernel += other.kernel;
  inferred += other.inferred;
  shared += other.shared;
  cpu += other.cpu;
}

Dictionaries dictionaries_of(const Profile& profile) {
  return {[&profile](ProcessId process, PlanId id) { return profile.plan(process, id); },
          [&profile](ProcessId process, CodeId id) -> const LinkSets* {
            const CodeInfo* code = profile.code(process, id);
            return code == nullptr ? nullptr : &code->link_sets;
          }};
}

void for_each_cost(const Dictionaries& known, const Cells& cells,
                   const std::function<void(const Cost&)>& use) {
  LineageCache lineages(known);
  for (const auto& [key, cell] : cells) {
    Cost cost{key, cell, key};
    classify(known, lineages, cost);
    use(cost);
  }
}

void for_each_cost(const Profile& profile, const Selection& selection, std::uint16_t source,
                   const std::function<void(const Cost&)>& use) {
  const Dictionaries known = dictionaries_of(profile);
  LineageCache lineages(known);
  for (const auto& [own, cell] : profile.cells()) {
    const CellKey key = profile.for_leader(own);
    const auto [process, execution] = profile.led_by(own.process, own.execution);
    if (key.source != source || !selected(selection, process, execution)) continue;
    Cost cost{key, cell, own};
    classify(known, lineages, cost);
    use(cost);
  }
}

void for_each_cost_by_execution(const Profile& profile, const Selection& selection, std::uint16_t source,
                                const std::function<void(const Cost&)>& use,
                                const std::function<void()>& next) {
  const Cells& cells = profile.cells();
  std::vector<std::pair<InProcess<ExecutionHandle>, std::size_t>> places;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const CellKey& own = cells[i].first;
    if (own.source != source || own.execution == 0) continue;
    const InProcess<ExecutionHandle> led = profile.led_by(own.process, own.execution);
    if (selected(selection, led.first, led.second)) places.emplace_back(led, i);
  }
  std::ranges::sort(places);
  const Dictionaries known = dictionaries_of(profile);
  LineageCache lineages(known);
  for (std::size_t i = 0; i < places.size(); ++i) {
    const auto& [own, cell] = cells[places[i].second];
    const CellKey key = profile.for_leader(own);
    Cost cost{key, cell, own};
    classify(known, lineages, cost);
    use(cost);
    if (i + 1 == places.size() || places[i + 1].first != places[i].first) next();
  }
}

std::map<std::uint16_t, Cell> totals_by_source(const Profile& profile, const Selection& selection) {
  std::map<std::uint16_t, Cell> totals;
  for (const auto& [key, cell] : profile.cells()) {
    const auto [process, execution] = profile.led_by(key.process, key.execution);
    if (!selected(selection, process, execution)) continue;
    Cell& total = totals[key.source];
    total.samples += cell.samples;
    total.weight += cell.weight;
    total.weight_squares += cell.weight_squares;
  }
  return totals;
}

std::optional<std::uint16_t> default_source(const Profile& profile, const Selection& selection) {
  const auto totals = totals_by_source(profile, selection);
  if (totals.empty()) return std::nullopt;
  for (const auto& [index, total] : totals) {
    if (profile.source(index).unit == profile::Unit::kNsOnCpu) return index;
  }
  for (const auto& [index, total] : totals) {
    if (profile.source(index).unit != profile::Unit::kNsOffCpu) return index;
  }
  return totals.begin()->first;
}

}  // namespace tailor::query
