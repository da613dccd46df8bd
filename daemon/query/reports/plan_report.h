// Where the time of a selection went, in the words of the query plan.
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "daemon/query/load/accounting.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/reports/scale.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/sums/evidence.h"
#include "daemon/query/sums/execution_spread.h"
#include "daemon/query/sums/interval.h"
#include "daemon/query/sums/places.h"
#include "daemon/query/sums/skew.h"
#include "daemon/query/sums/unregistered_code.h"
#include "daemon/query/time/elapsed_time.h"
#include "daemon/query/time/waits.h"
#include "proto/base/result.h"

namespace tailor::query {

// Rows of equal cost by name.
template <typename Row>
void most_expensive_first(std::vector<Row>& rows) {
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    const double left = a.cost.amount.weight, right = b.cost.amount.weight;
    return left != right ? left > right : a.name < b.name;
  });
}

struct ComponentRow {
  ComponentId id = kNoComponent;
  std::string name, kind;
  std::vector<std::pair<std::string, std::string>> attributes;  // as text
  std::vector<std::string> operators;  // the top-level owners' names; empty on the top level itself
  Share95 cost;                        // of the component itself, not of its inputs
};

struct OperatorRow : ComponentRow {
  std::uint32_t depth = 0;
  bool last = true;  // of its siblings
};

struct PipelineRow {
  std::uint32_t id = 0;  // 0: pipeline unknown
  std::string name;
  std::vector<std::uint32_t> depends_on;
  Share95 cost;
  std::vector<ComponentRow> tasks;  // in the order tuples pass them; id 0: no task known
};

struct NamedRow {
  ProcessId process;  // of an engine component; {} otherwise
  std::string key;    // stable, for machines; of a component its name
  std::string name;
  Share95 cost;
  std::string owner = {};  // its key in views over time (keys.h); "" where it has none
};

// The plan's own time is that of its generated and tagged code: operators + unowned.
struct PlanPart {
  ProcessId process;
  PlanId plan = 0;
  std::string name;
  std::uint64_t executions = 0;  // of this plan, with samples in the selection
  // Of this plan, without any (sums/without_sample.h). Nothing: not known.
  std::optional<std::uint64_t> executions_without_sample;
  Share95 cost;                        // its own time, as a share of the report
  Cell own;                            // the same, without a share
  WholeSpread spread;                  // of it
  double effective_samples = 0;        // of it, on average, where not all executions are drawn
  std::vector<OperatorRow> operators;  // in the order of the drawn tree
  std::vector<NamedRow> unowned;       // what no operator owns, by reason; most expensive first
  std::vector<PipelineRow> pipelines;
  // In its executions, but not its own time: what the engine did for them, and what is unattributed. Shares
  // are of the report; most expensive first.
  std::vector<NamedRow> engine_rows, unattributed_rows;
};

// operators + components + unattributed = total, up to rounding.
struct PlanReport {
  profile::Source source;
  Base base = Base::kPlan;  // of the shares within plans
  // The one that was asked for; nothing where none or several were.
  std::optional<InProcess<ExecutionHandle>> execution;
  // Weights are parts of elapsed time; the total is all of it, with the time in which no thread worked.
  std::optional<ElapsedSum> elapsed;
  Cell total;
  double effective_samples = 0;  // what intervals are computed from, on average
  WholeSpread spread;            // of the total
  Share95 operators;
  Share95 components;
  Share95 unattributed;
  Share95 all;                           // the whole: carries the kernel, inferred and shared share
  std::vector<PlanPart> plans;           // most expensive first
  std::vector<NamedRow> component_rows;  // most expensive first, as are the next
  std::vector<NamedRow> unattributed_rows;
  std::vector<std::pair<Place, Share95>> unattributed_places;  // the first hundred
  Cell marks_lost;                             // of the unattributed, what lost marks might have told
  std::vector<UnregisteredCode> unregistered;  // of the unattributed, by process; most expensive first
  Evidence evidence;
  std::vector<profile::Pause> pauses;                           // that concern the selection
  std::vector<profile::RateSpan> rates;                         // that concern the selection
  DrawnSum drawn;                                               // empty where all executions are drawn
  std::optional<WaitLane> off_cpu;                              // where it was recorded
  std::vector<std::pair<profile::Source, Cell>> other_sources;  // with samples, not in this report
  Accounting accounting;
};

// The operators that a plan describes, in the order of the drawn tree, without costs.
std::vector<OperatorRow> described_operators(const PlanModel& plan);

// What shares beside plans are parts of: the total.
Scale scale_of(const PlanReport& report);
// What shares of the plan's own time are parts of.
Scale scale_of_own(const PlanPart& part);
// What shares within `part`, which is one of the report's plans, are parts of.
Scale scale_within(const PlanReport& report, const PlanPart& part);

// Fails, saying so, if the selection has no samples of the source.
Result<PlanReport> plan_report(const Profile& profile, const Selection& selection);
// The same of elapsed time.
Result<PlanReport> plan_report(const ElapsedTime& time);

// The components of one level that have costs, most expensive first. `level` is the name of a level. Fails if
// no plan with samples has such a level (the message lists those there are).
struct LevelReport {
  std::string level;
  PlanReport summary;
  struct Part {
    ProcessId process;
    PlanId plan = 0;
    std::string name;
    std::vector<ComponentRow> rows;
    Share95 unknown;  // costs of the plan that are known on higher levels only
  };
  std::vector<Part> plans;
};
Result<LevelReport> level_report(const Profile& profile, const Selection& selection,
                                 const std::string& level);
Result<LevelReport> level_report(const ElapsedTime& time, const std::string& level);

}  // namespace tailor::query
