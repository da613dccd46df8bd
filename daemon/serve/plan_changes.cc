#include "daemon/serve/plan_changes.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "daemon/serve/fingerprint.h"
#include "daemon/serve/library.h"
#include "daemon/serve/plan_key.h"

namespace tailor::serve {
namespace {

using RunKey = std::tuple<store::RecordingNumber, ProcessId, ExecutionHandle>;

RunKey key_of_run(const store::ExecutionRow& row) {
  return {row.recording, row.record.process, row.record.handle};
}

// Of an execution no more than this is kept: there may be very many.
struct ComparedRun {
  std::uint32_t query = 0, plan = 0;  // numbers of Numbered
  ExecutionHandle handle = 0;
};

// Numbers things in the order in which they come.
template <typename Thing>
class Numbered {
 public:
  std::uint32_t number(const Thing& thing) {
    const auto [at, fresh] = numbers_.try_emplace(thing, static_cast<std::uint32_t>(things_.size()));
    if (fresh) things_.push_back(thing);
    return at->second;
  }
  const std::vector<Thing>& things() const { return things_; }

 private:
  std::map<Thing, std::uint32_t> numbers_;
  std::vector<Thing> things_;
};

// Executions newest first, and the two that each change lies between.
class PlanComparison {
 public:
  // Whether it takes more.
  bool take(const store::ExecutionRow& row) {
    if (runs_.size() >= kMostComparedRuns) {
      cut_ = true;
      return false;
    }
    runs_.push_back({queries_.number(fingerprint_of(row)),
                     plans_.number({row.recording, row.record.process, row.record.plan}), row.record.handle});
    return true;
  }

  std::set<PlanKey> plans() const { return {plans_.things().begin(), plans_.things().end()}; }

  struct Change {
    std::size_t after = 0, before = 0;  // numbers of executions, the newest one is 0
  };
  // Newest first. `out` gets what was counted.
  std::vector<Change> compare(const PlanShapes& shapes, PlanChangeList& out) const {
    struct NewerRun {
      std::size_t run = 0;
      std::uint64_t shape = 0;
    };
    std::unordered_map<std::uint32_t, NewerRun> newer;  // by query
    std::vector<Change> changes;
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const auto shape = shapes.find(plans_.things()[runs_[i].plan]);
      if (shape == shapes.end()) {
        ++out.without_plan;
        continue;
      }
      ++out.executions;
      const auto [at, first] = newer.try_emplace(runs_[i].query, NewerRun{i, shape->second});
      if (!first && at->second.shape != shape->second) changes.push_back({at->second.run, i});
      at->second = {i, shape->second};
    }
    out.cut = cut_;
    std::ranges::sort(changes, {}, &Change::after);
    return changes;
  }

  RunKey key(std::size_t run) const {
    const PlanKey& plan = plans_.things()[runs_[run].plan];
    return {plan.recording, plan.process, runs_[run].handle};
  }

 private:
  Numbered<std::string> queries_;
  Numbered<PlanKey> plans_;
  std::vector<ComparedRun> runs_;
  bool cut_ = false;
};

// The rows of these executions.
Result<std::map<RunKey, store::ExecutionRow>> rows_of_runs(Library& library, const ExecutionFilter& filter,
                                                           const std::set<RunKey>& wanted, const Stop& stop) {
  std::map<RunKey, store::ExecutionRow> rows;
  Status read = library.visit(filter, stop, [&](store::ExecutionRow row) {
    const RunKey key = key_of_run(row);
    if (wanted.contains(key)) rows.emplace(key, std::move(row));
    return rows.size() < wanted.size();
  });
  if (!read) return read.error();
  return rows;
}

}  // namespace

Result<PlanChangeList> plan_changes(Library& library, const ExecutionFilter& filter, const Stop& stop) {
  PlanComparison comparison;
  Status read =
      library.visit(filter, stop, [&](const store::ExecutionRow& row) { return comparison.take(row); });
  if (!read) return read.error();
  auto shapes = library.plan_shapes(comparison.plans(), stop);
  if (!shapes) return shapes.error();
  PlanChangeList list;
  auto changes = comparison.compare(*shapes, list);
  list.more = changes.size() > filter.limit;
  if (list.more) changes.resize(filter.limit);
  std::set<RunKey> wanted;
  for (const auto& change : changes) {
    wanted.insert(comparison.key(change.after));
    wanted.insert(comparison.key(change.before));
  }
  auto rows = rows_of_runs(library, filter, wanted, stop);
  if (!rows) return rows.error();
  for (const auto& change : changes) {
    const auto after = rows->find(comparison.key(change.after));
    const auto before = rows->find(comparison.key(change.before));
    // Retention may have removed one meanwhile.
    if (after == rows->end() || before == rows->end()) continue;
    list.changes.push_back({fingerprint_of(after->second), before->second, after->second});
  }
  return list;
}

}  // namespace tailor::serve
