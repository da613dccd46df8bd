#include "daemon/query/reports/bounds_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "proto/traffic/estimate.h"
#include "proto/traffic/lower_bound.h"
#include "proto/traffic/plan_phases.h"
#include "proto/traffic/shape.h"

namespace tailor::query {
namespace {

constexpr std::uint32_t kLineBytes = 64;
// Each pattern of a phase needs a line.
constexpr std::uint64_t kFewestBytes = kLineBytes * traffic::kMostPatternsOfPhase;
constexpr std::uint64_t kMostBytes = kLineBytes * traffic::kMostLines;
// Of all plans together: a profile can have any number of plans, and each may take a second.
constexpr std::size_t kMostOfAllPlans = 4 * traffic::kMostPatterns;

// A kind of region, by its name and owner.
using RegionName = std::pair<std::string, std::uint32_t>;

// Whether the pattern's numbers rest on accesses that are spread evenly.
bool is_even(v1::AccessPattern pattern) {
  return pattern == v1::ACCESS_CONDITIONAL || pattern == v1::ACCESS_SHUFFLED || pattern == v1::ACCESS_RANDOM;
}

bool says_something(const v1::Plan& plan) {
  return std::ranges::any_of(plan.levels(), [](const v1::Level& level) {
    return std::ranges::any_of(level.components(),
                               [](const v1::Component& each) { return each.accesses_size() > 0; });
  });
}

// Rows that operators handed on in one execution, as the engine counted them.
std::map<ComponentId, double> counted_rows(const v1::Plan& plan) {
  std::map<ComponentId, double> out;
  if (plan.levels_size() == 0) return out;
  for (const v1::Component& component : plan.levels(0).components())
    for (const v1::Attribute& attribute : component.attributes())
      if (attribute.key() == "actual_rows" && attribute.value_case() == v1::Attribute::kNumber)
        out[component.id()] = attribute.number();
  return out;
}

class PartOfPlan {
 public:
  PartOfPlan(const PlanModel& model, const PlanPart& part) : model_(model), part_(part) {
    const v1::Plan& plan = model.plan();
    for (int level = 0; level < plan.levels_size(); ++level)
      for (const v1::Component& component : plan.levels(level).components()) {
        const auto number = static_cast<std::uint32_t>(level);
        // Once for each: a component may have thousands of accesses and of owners.
        const bool speaks = component.accesses_size() > 0;
        if ((speaks || component.has_computation()) && !owners_.contains({number, component.id()}))
          add_owners(number, component.id(), speaks);
        for (int i = 0; i < component.accesses_size(); ++i)
          accesses_.emplace(std::tuple(number, component.id(), static_cast<std::uint32_t>(i)),
                            &component.accesses(i));
      }
    for (const OperatorRow& row : part.operators) costs_.emplace(row.id, &row.cost);
    const std::map<ComponentId, double> rows = counted_rows(plan);
    traffic::RunNumbers numbers;
    numbers.rows_of = [&rows](std::uint32_t component) -> std::optional<double> {
      const auto found = rows.find(component);
      if (found == rows.end()) return std::nullopt;
      return found->second;
    };
    phases_ = traffic::plan_phases(plan, numbers);
    for (const traffic::Unpredicted& each : phases_.unpredicted) unknown_regions_.insert(region_of(each.at));
  }

  std::size_t patterns() const {
    std::size_t sum = 0;
    for (const traffic::Phase& phase : phases_.phases) sum += phase.patterns.size();
    return sum;
  }

  // `options` has no runs if the plan is not the one that they are of.
  BoundsPart computed(const traffic::Cache& cache, const PlanReport& report,
                      const BoundsOptions& options) const {
    BoundsPart out{.process = part_.process, .plan = part_.plan, .name = part_.name};
    // Nobody knows what becomes of modified lines that the cache still holds: the estimate counts them, and
    // the bound does not.
    const auto expected = traffic::estimate(cache, phases_.phases, traffic::Ending::kWrittenBack);
    const auto least = traffic::lower_bound(cache, phases_.phases, traffic::Ending::kLeft);
    for (std::size_t i = 0; i < phases_.phases.size(); ++i)
      for (std::size_t j = 0; j < phases_.phases[i].patterns.size(); ++j) {
        BoundsRow row = row_of(phases_.accesses[i][j]);
        if (!expected || !least) {
          row.unknown = (expected ? least.error() : expected.error()).message;
        } else {
          fill(row, cache, phases_.phases[i].patterns[j], expected->phases[i][j], least->phases[i][j],
               unknown_regions_.contains(region_of(phases_.accesses[i][j])));
        }
        out.rows.push_back(std::move(row));
      }
    for (const traffic::Unpredicted& each : phases_.unpredicted) {
      out.rows.push_back(row_of(each.at));
      out.rows.back().unknown = each.reason;
    }
    for (const BoundsRow& row : out.rows) add(row, out);
    out.silent_operators = silent_operators();
    if (out.unknown == 0 && least) out.least = least->moved * cache.line_bytes;
    add_times(report, options, static_cast<double>(cache.lines * cache.line_bytes), out);
    return out;
  }

 private:
  void add_owners(std::uint32_t level, ComponentId component, bool speaks) {
    const Owners owners = model_.owners_of(level, component, 0);
    owners_[{level, component}] = owners.size() == 1 ? owners.front().id : kNoComponent;
    if (!speaks) return;
    for (const Share& owner : owners) speaking_.insert(owner.id);
  }

  // A component of several operators is no operator's here, but the plan's.
  std::map<ComponentId, OperatorBound> needs_of_operators(const std::vector<BoundsRow>& rows) const {
    std::map<ComponentId, OperatorBound> out;
    for (const BoundsRow& row : rows) {
      OperatorBound& bound = out[row.operator_id];
      bound.needs_more = bound.needs_more || row.at_least || !row.least;
      if (!row.least) continue;
      bound.least_bytes += row.least->sum();
      bound.assumes_even = bound.assumes_even || (row.assumes_even && row.least->sum() > 0);
    }
    for (const traffic::Computed& each : phases_.computed) {
      OperatorBound& bound = out[owners_.at({each.level, each.component})];
      bound.needs_more = bound.needs_more || !each.cycles;
      if (each.cycles) bound.cycles = bound.cycles.value_or(0) + *each.cycles;
    }
    return out;
  }

  // An execution that is measured may begin with a full cache, and each line of it saves one at most.
  void add_times(const PlanReport& report, const BoundsOptions& options, double cache_bytes,
                 BoundsPart& out) const {
    out.not_measured = options.runs_unknown;
    if (out.not_measured.empty() && options.runs == 0) out.not_measured = "no execution is known";
    if (out.not_measured.empty() && !measured_time(report, part_.cost, options.runs))
      out.not_measured = "the samples are of no CPU time";
    const std::uint64_t runs = out.not_measured.empty() ? options.runs : 0;
    std::map<ComponentId, OperatorBound> needs = needs_of_operators(out.rows);
    for (const OperatorRow& row : part_.operators) {
      const auto found = needs.find(row.id);
      if (found == needs.end()) continue;
      OperatorBound& bound = out.operators.emplace_back(std::move(found->second));
      bound.id = row.id;
      bound.name = row.name;
      bound.least_bytes = std::max(0.0, bound.least_bytes - cache_bytes);
      bound.measured = measured_time(report, row.cost, runs);
      judge(options.rates, bound);
    }
    OperatorBound& whole = out.whole;
    whole.name = out.name;
    whole.measured = measured_time(report, part_.cost, runs);
    whole.least_bytes = std::max(0.0, out.least - cache_bytes);
    whole.needs_more = out.unknown > 0 || !out.silent_operators.empty();
    for (const BoundsRow& row : out.rows) {
      whole.needs_more = whole.needs_more || row.at_least;
      whole.assumes_even = whole.assumes_even || (row.assumes_even && row.least && row.least->sum() > 0);
    }
    for (const traffic::Computed& each : phases_.computed) {
      whole.needs_more = whole.needs_more || !each.cycles;
      if (each.cycles) whole.cycles = whole.cycles.value_or(0) + *each.cycles;
    }
    judge(options.rates, whole);
  }

  std::vector<std::string> silent_operators() const {
    std::vector<std::string> out;
    for (const OperatorRow& row : part_.operators)
      if (!speaking_.contains(row.id)) out.push_back(row.name);
    return out;
  }

  const v1::Access& access_at(const traffic::AccessAt& at) const {
    return *accesses_.at({at.level, at.component, at.access});
  }

  RegionName region_of(const traffic::AccessAt& at) const {
    const v1::Access& access = access_at(at);
    return {access.region(), access.region_owner()};
  }

  BoundsRow row_of(const traffic::AccessAt& at) const {
    const v1::Access& access = access_at(at);
    BoundsRow row{.region = access.region(),
                  .pattern = pattern_key(access.pattern()),
                  .pipeline = access.pipeline(),
                  .step = access.step(),
                  .reads = access.reads(),
                  .writes = access.writes(),
                  .at_least = access.at_least(),
                  .assumes_even = is_even(access.pattern())};
    row.operator_id = owners_.at({at.level, at.component});
    row.operator_name = row.operator_id == kNoComponent ? model_.component_name(at.level, at.component)
                                                        : model_.component_name(0, row.operator_id);
    if (const auto found = costs_.find(row.operator_id); found != costs_.end()) row.cost = *found->second;
    return row;
  }

  static void fill(BoundsRow& row, const traffic::Cache& cache, const traffic::Pattern& pattern,
                   const traffic::PatternTraffic& expected, const traffic::PatternFloor& least,
                   bool is_shared_with_unknown) {
    row.items = pattern.region.items;
    row.accesses = traffic::Shape(pattern, cache.line_bytes).accesses();
    row.expected = {expected.read * cache.line_bytes, expected.written * cache.line_bytes};
    if (!is_shared_with_unknown)
      row.least = MovedBytes{least.read * cache.line_bytes, least.written * cache.line_bytes};
  }

  static void add(const BoundsRow& row, BoundsPart& out) {
    if (!row.unknown.empty()) {
      ++out.unknown;
      return;
    }
    out.expected.read += row.expected.read;
    out.expected.written += row.expected.written;
    if (row.least) out.least += row.least->sum();
  }

  const PlanModel& model_;
  const PlanPart& part_;
  traffic::PlanPhases phases_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, const v1::Access*> accesses_;
  std::map<std::pair<std::uint32_t, ComponentId>, ComponentId> owners_;  // kNoComponent: none, or several
  std::set<ComponentId> speaking_;                                       // operators with an access
  std::map<ComponentId, const Share95*> costs_;
  std::set<RegionName> unknown_regions_;
};

}  // namespace

std::string_view pattern_key(v1::AccessPattern pattern) {
  switch (pattern) {
    case v1::ACCESS_SEQUENTIAL:
      return "sequential";
    case v1::ACCESS_CONDITIONAL:
      return "conditional";
    case v1::ACCESS_SHUFFLED:
      return "shuffled";
    case v1::ACCESS_RANDOM:
      return "random";
    case v1::ACCESS_PARTITIONED:
      return "partitioned";
    default:
      return "unknown";
  }
}

Result<BoundsReport> bounds_report(const Profile& profile, const PlanReport& report,
                                   const BoundsOptions& options) {
  if (options.cache_bytes < kFewestBytes || options.cache_bytes > kMostBytes)
    return invalid(
        fmt::format("a cache of {} bytes: take {} to {}", options.cache_bytes, kFewestBytes, kMostBytes));
  const traffic::Cache cache{.line_bytes = kLineBytes, .lines = options.cache_bytes / kLineBytes};
  BoundsReport out{.cache_bytes = cache.lines * kLineBytes, .line_bytes = kLineBytes, .rates = options.rates};
  BoundsOptions of_others = options;
  of_others.runs = 0;
  of_others.runs_unknown = "only the executions of the most expensive plan are counted";
  std::size_t left = kMostOfAllPlans;
  for (const PlanPart& part : report.plans) {
    const PlanModel* model = profile.plan(part.process, part.plan);
    if (model == nullptr || !says_something(model->plan())) {
      ++out.silent;
      continue;
    }
    const PartOfPlan plan(*model, part);
    if (plan.patterns() > left) {
      ++out.left_out;
      continue;
    }
    left -= plan.patterns();
    const bool is_main = &part == &report.plans.front();
    out.plans.push_back(plan.computed(cache, report, is_main ? options : of_others));
  }
  if (out.plans.empty() && out.left_out == 0)
    return not_found(
        "no plan here says how its operators use memory: the engine has to tell it (docs/bounds.md)");
  return out;
}

}  // namespace tailor::query
