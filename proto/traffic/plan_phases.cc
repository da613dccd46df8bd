#include "proto/traffic/plan_phases.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <utility>

namespace tailor::traffic {
namespace {

// A number, or why there is none.
struct Counted {
  std::uint64_t value = 0;
  std::string missing = {};
};

// More than any pattern may have. Larger numbers are refused later, by their pattern.
constexpr double kMostCounted = 0x1p53;

// The ids of pipelines in an order in which they may run: each after those that it depends on. What depends
// on itself comes last.
std::vector<std::uint32_t> order_of(const v1::Plan& plan) {
  std::map<std::uint32_t, std::size_t> waits_for;                  // how many pipelines
  std::map<std::uint32_t, std::vector<std::uint32_t>> waited_for;  // by which
  for (const v1::Pipeline& pipeline : plan.pipelines()) waits_for.emplace(pipeline.id(), 0);
  for (const v1::Pipeline& pipeline : plan.pipelines())
    for (const std::uint32_t other : pipeline.depends_on()) {
      if (!waits_for.contains(other)) continue;
      ++waits_for[pipeline.id()];
      waited_for[other].push_back(pipeline.id());
    }
  std::set<std::uint32_t> ready;
  for (const auto& [id, others] : waits_for)
    if (others == 0) ready.insert(id);
  std::vector<std::uint32_t> out;
  while (!ready.empty()) {
    const std::uint32_t id = *ready.begin();
    ready.erase(ready.begin());
    out.push_back(id);
    for (const std::uint32_t other : waited_for[id])
      if (--waits_for[other] == 0) ready.insert(other);
  }
  for (const auto& [id, others] : waits_for)
    if (others > 0) out.push_back(id);
  return out;
}

std::optional<PatternKind> kind_of(v1::AccessPattern pattern) {
  switch (pattern) {
    case v1::ACCESS_SEQUENTIAL:
      return PatternKind::kSequential;
    case v1::ACCESS_CONDITIONAL:
      return PatternKind::kConditional;
    case v1::ACCESS_SHUFFLED:
      return PatternKind::kRandomTraversal;
    case v1::ACCESS_RANDOM:
      return PatternKind::kRandomAccess;
    case v1::ACCESS_PARTITIONED:
      return PatternKind::kNested;
    default:
      return std::nullopt;
  }
}

class PlanReading {
 public:
  PlanReading(const v1::Plan& plan, const RunNumbers& numbers) : plan_(plan), numbers_(numbers) {
    if (plan.levels_size() > 0)
      for (const v1::Component& component : plan.levels(0).components())
        operators_[component.id()] = &component;
    const std::vector<std::uint32_t> order = order_of(plan);
    for (std::size_t i = 0; i < order.size(); ++i) places_[order[i]] = i;
  }

  PlanPhases run() {
    for (int level = 0; level < plan_.levels_size(); ++level)
      for (const v1::Component& component : plan_.levels(level).components()) {
        const auto number = static_cast<std::uint32_t>(level);
        for (int i = 0; i < component.accesses_size(); ++i)
          add(component.accesses(i), {number, component.id(), static_cast<std::uint32_t>(i)});
        if (component.has_computation())
          out_.computed.push_back({number, component.id(), cycles_of(component.computation())});
      }
    for (auto& [place, phase] : phases_) {
      out_.phases.push_back(std::move(phase.first));
      out_.accesses.push_back(std::move(phase.second));
    }
    return std::move(out_);
  }

 private:
  std::optional<double> cycles_of(const v1::Computation& computation) {
    const Counted rows = count(computation.rows());
    const double cycles = computation.cycles_per_row() * static_cast<double>(rows.value);
    if (!rows.missing.empty() || !std::isfinite(cycles) || cycles < 0) return std::nullopt;
    return cycles;
  }

  void add(const v1::Access& access, AccessAt at) {
    Pattern pattern;
    std::string reason = read(access, pattern);
    const auto place = places_.find(access.pipeline());
    if (reason.empty() && place == places_.end()) reason = "it names no pipeline";
    if (reason.empty() && patterns_ >= kMostPatterns)
      reason = fmt::format("the plan has more than {} patterns", kMostPatterns);
    if (!reason.empty()) {
      out_.unpredicted.push_back({at, std::move(reason)});
      return;
    }
    auto& [phase, accesses] = phases_[{place->second, access.step()}];
    if (phase.patterns.size() >= kMostPatternsOfPhase) {
      out_.unpredicted.push_back(
          {at, fmt::format("its phase has more than {} patterns", kMostPatternsOfPhase)});
      return;
    }
    pattern.region.id = region_id(access);
    phase.patterns.push_back(pattern);
    accesses.push_back(at);
    ++patterns_;
  }

  // Fills in all but the region's id. Gives why that is not possible; empty: it is.
  std::string read(const v1::Access& access, Pattern& pattern) {
    const std::optional<PatternKind> kind = kind_of(access.pattern());
    if (!kind) return "its pattern is not known";
    pattern.kind = *kind;
    pattern.region.item_bytes = access.item_bytes();
    pattern.used_bytes = access.used_bytes();
    pattern.turns = access.turns();
    pattern.cursors = access.cursors() == 0 ? 1 : access.cursors();
    pattern.at_random = !access.in_turn();
    pattern.reads = access.reads();
    pattern.writes = access.writes();
    pattern.allocates = !access.bypasses();
    pattern.discards = access.discards();
    const Counted items = access.has_items() ? count(access.items()) : items_of_region(access);
    if (!items.missing.empty()) return items.missing;
    pattern.region.items = items.value;
    if (access.has_times()) {
      const Counted times = count(access.times());
      if (!times.missing.empty()) return times.missing;
      if (times.value == 0) pattern.region.items = 0;  // it was never traversed
      pattern.times = std::max<std::uint64_t>(times.value, 1);
    }
    if (*kind == PatternKind::kConditional || *kind == PatternKind::kRandomAccess) {
      const Counted accesses = count(access.accesses());
      if (!accesses.missing.empty()) return accesses.missing;
      if (*kind == PatternKind::kRandomAccess) pattern.accesses = accesses.value;
      if (*kind == PatternKind::kConditional && items.value > 0)
        pattern.share = std::min(1.0, static_cast<double>(accesses.value) / static_cast<double>(items.value));
    }
    const Status fine = check(pattern);
    return fine.ok() ? std::string() : fine.error().message;
  }

  std::optional<double> rows_of(std::uint32_t component) const {
    return numbers_.rows_of ? numbers_.rows_of(component) : std::nullopt;
  }

  // Nothing if one of the inputs is not known, or there is none. Many accesses may ask for a component that
  // has many inputs.
  std::optional<double> rows_into(std::uint32_t component) {
    const auto [known, is_new] = rows_into_.try_emplace(component);
    if (is_new) known->second = sum_of_inputs(component);
    return known->second;
  }

  std::optional<double> sum_of_inputs(std::uint32_t component) const {
    const auto found = operators_.find(component);
    if (found == operators_.end() || found->second->inputs().empty()) return std::nullopt;
    double sum = 0;
    for (const std::uint32_t input : found->second->inputs()) {
      const std::optional<double> rows = rows_of(input);
      if (!rows) return std::nullopt;
      sum += *rows;
    }
    return sum;
  }

  Counted count(const v1::Count& wanted) {
    switch (wanted.value_case()) {
      case v1::Count::kFixed:
        return counted(scaled(static_cast<double>(wanted.fixed()), wanted),
                       "a number of the plan makes no sense");
      case v1::Count::kRowsOf:
        return counted(scaled(rows_of(wanted.rows_of()), wanted),
                       fmt::format("the rows of component {} are not known", wanted.rows_of()));
      case v1::Count::kRowsInto:
        return counted(scaled(rows_into(wanted.rows_into()), wanted),
                       fmt::format("the rows into component {} are not known", wanted.rows_into()));
      default:
        return {0, "the plan does not say how many"};
    }
  }

  Counted items_of_region(const v1::Access& access) const {
    if (access.item_bytes() == 0) return {0, "its items have no width"};
    std::optional<double> bytes;
    if (numbers_.region_bytes) bytes = numbers_.region_bytes(access.region(), access.region_owner());
    if (bytes) *bytes /= access.item_bytes();
    return counted(bytes, fmt::format("the size of region \"{}\" is not known", access.region()));
  }

  static std::optional<double> scaled(std::optional<double> value, const v1::Count& wanted) {
    if (!value) return std::nullopt;
    const double product = *value * (wanted.factor() == 0 ? 1 : wanted.factor());
    // Written so that NaN stays what it is.
    if (!wanted.power_of_two() || !(product >= 1)) return product;
    return static_cast<double>(std::bit_ceil(static_cast<std::uint64_t>(std::min(product, kMostCounted))));
  }

  static Counted counted(std::optional<double> value, std::string missing) {
    if (!value || !std::isfinite(*value) || *value < 0) return {0, std::move(missing)};
    return {static_cast<std::uint64_t>(std::llround(std::min(*value, kMostCounted))), {}};
  }

  std::uint32_t region_id(const v1::Access& access) {
    const auto [found, is_new] = regions_.try_emplace({access.region(), access.region_owner()},
                                                      static_cast<std::uint32_t>(regions_.size()));
    if (is_new) out_.regions.push_back(access.region());
    return found->second;
  }

  const v1::Plan& plan_;
  const RunNumbers& numbers_;
  std::map<std::uint32_t, const v1::Component*> operators_;
  std::map<std::uint32_t, std::size_t> places_;  // of pipelines in their order
  std::map<std::pair<std::size_t, std::uint32_t>, std::pair<Phase, std::vector<AccessAt>>>
      phases_;  // by place and step
  std::map<std::pair<std::string, std::uint32_t>, std::uint32_t> regions_;
  std::map<std::uint32_t, std::optional<double>> rows_into_;  // of components that were asked for
  std::size_t patterns_ = 0;
  PlanPhases out_;
};

}  // namespace

PlanPhases plan_phases(const v1::Plan& plan, const RunNumbers& numbers) {
  return PlanReading(plan, numbers).run();
}

}  // namespace tailor::traffic
