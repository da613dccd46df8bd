#include "daemon/query/time/iterations.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "daemon/query/time/sampled_loop.h"

namespace tailor::query {
namespace {

using ExecutionKey = InProcess<ExecutionHandle>;

bool selected(const Selection& selection, const ExecutionKey& key) {
  return (!selection.process || key.first == *selection.process) &&
         (selection.executions.empty() || selection.executions.contains(key));
}

TimeNs end_of(const Profile& profile, const ExecutionKey& key) {
  const profile::ExecutionRecord* record = profile.execution(key.first, key.second);
  const TimeNs end = record == nullptr ? kTimeMax : record->end;
  return end == kTimeMax ? std::max(profile.last_time(), kTimeMin) + 1 : end;
}

// Appends an iteration; the one before ends where it begins.
void begin_iteration(std::vector<Iteration>& iterations, std::uint64_t number, TimeNs time) {
  if (!iterations.empty()) iterations.back().to = std::max(iterations.back().from, time);
  iterations.push_back({number, time, kTimeMax});
}

void close(std::vector<Iteration>& iterations, TimeNs time) {
  if (!iterations.empty() && iterations.back().to == kTimeMax)
    iterations.back().to = std::max(iterations.back().from, time);
}

// ---- from marks

// Goes through the logs of all threads and collects the loops that they mark.
class MarkReader {
 public:
  MarkReader(const Profile& profile, const Selection& selection) : profile_(profile), selection_(selection) {}

  std::vector<Loop> read() {
    // By thread; the order within a log is that of its times.
    std::vector<const profile::ActivityRecord*> marks;
    for (const profile::ActivityRecord& mark : profile_.marks()) marks.push_back(&mark);
    std::stable_sort(marks.begin(), marks.end(), [](const auto* a, const auto* b) {
      return std::tie(a->process, a->tid, a->time) < std::tie(b->process, b->tid, b->time);
    });
    const profile::ActivityRecord* before = nullptr;
    for (const profile::ActivityRecord* mark : marks) {
      if (before == nullptr || before->process != mark->process || before->tid != mark->tid) open_.clear();
      before = mark;
      take(*mark);
    }
    std::vector<Loop> loops;
    for (auto& [key, loop] : loops_) loops.push_back(finish(std::move(loop)));
    return loops;
  }

 private:
  void take(const profile::ActivityRecord& mark) {
    if (mark.kind == TAILOR_LOG_EXECUTION_BEGIN) {
      open_.push_back(mark.a);
    } else if (mark.kind == TAILOR_LOG_EXECUTION_END) {
      for (auto& [key, loop] : loops_) {
        if (key.first != ExecutionKey{mark.process, mark.a}) continue;
        if (auto own = loop.of_thread.find(mark.tid); own != loop.of_thread.end())
          close(own->second, mark.time);
      }
      const auto open = std::find(open_.rbegin(), open_.rend(), mark.a);
      if (open != open_.rend()) open_.erase(std::prev(open.base()), open_.end());
    } else if (!open_.empty() && selected(selection_, {mark.process, open_.back()})) {
      const ExecutionKey execution{mark.process, open_.back()};
      Loop& loop = loops_[{execution, mark.id}];
      loop.execution = execution;
      loop.component = mark.id;
      begin_iteration(loop.of_thread[mark.tid], mark.a, mark.time);
    }
  }

  Loop finish(Loop loop) const {
    loop.marked = true;
    loop.name = name_of(loop);
    const TimeNs end = end_of(profile_, loop.execution);
    std::vector<Iteration> all;
    for (auto& [tid, own] : loop.of_thread) {
      close(own, end);
      all.insert(all.end(), own.begin(), own.end());
    }
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
    // Of several threads that begin an iteration, the first counts.
    std::set<std::uint64_t> known;
    for (const Iteration& each : all) {
      const bool fresh = known.insert(each.number).second;
      if (fresh || loop.of_thread.size() == 1) begin_iteration(loop.iterations, each.number, each.from);
    }
    if (!loop.iterations.empty()) loop.iterations.back().to = all.back().to;
    return loop;
  }

  std::string name_of(const Loop& loop) const {
    const auto& [process, handle] = loop.execution;
    const profile::ExecutionRecord* record = profile_.execution(process, handle);
    const PlanModel* plan = record == nullptr ? nullptr : profile_.plan(process, record->plan);
    if (plan == nullptr || plan->level_count() == 0) return fmt::format("component {}", loop.component);
    return plan->component_name(0, loop.component);
  }

  const Profile& profile_;
  const Selection& selection_;
  std::vector<ExecutionHandle> open_;
  std::map<std::pair<ExecutionKey, ComponentId>, Loop> loops_;
};

// ---- from samples

// The operator that each cell is of, where it is most of one.
std::unordered_map<const CellKey*, ComponentId> owners(const Profile& profile, const Selection& selection,
                                                       std::uint16_t source) {
  std::unordered_map<const CellKey*, ComponentId> owners;
  for_each_cost(profile, selection, source, [&](const Cost& cost) {
    if (cost.what != Cost::Class::kPlan || cost.lineage->front().empty()) return;
    const Owners& operators = cost.lineage->front();
    owners[&cost.own_key] =
        std::max_element(operators.begin(), operators.end(), [](const auto& a, const auto& b) {
          return a.part < b.part;
        })->id;
  });
  return owners;
}

Loop loop_of(const Profile& profile, const ExecutionKey& execution, const std::vector<OwnedSample>& samples) {
  Loop loop;
  loop.execution = execution;
  loop.name = "loop";
  const std::vector<TimeNs> ends = iteration_ends(samples);
  if (ends.empty()) return loop;
  const profile::ExecutionRecord* record = profile.execution(execution.first, execution.second);
  TimeNs from = record == nullptr ? samples.front().time : std::min(record->begin, samples.front().time);
  for (TimeNs end : ends) {
    loop.iterations.push_back({loop.iterations.size() + 1, from, end});
    from = end;
  }
  // What follows the last end is what comes after the loop, unless it is as long as an iteration.
  const TimeNs end = std::max(from, std::min(end_of(profile, execution), samples.back().time + 1));
  const TimeNs typical = (ends.back() - ends.front()) / static_cast<TimeNs>(ends.size() - 1);
  if (end - from > typical / 2) {
    loop.iterations.push_back({loop.iterations.size() + 1, from, end});
  } else {
    loop.iterations.back().to = end;
  }
  return loop;
}

std::vector<Loop> sampled_loops(const Profile& profile, const Selection& selection,
                                const std::set<ExecutionKey>& without) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return {};
  const auto owner = owners(profile, selection, *source);
  std::map<ExecutionKey, std::vector<OwnedSample>> samples;
  for (const TimedSample& sample : profile.samples()) {
    const ExecutionKey key{sample.key->process, sample.key->execution};
    if (key.second == 0 || sample.key->source != *source || !selected(selection, key)) continue;
    const auto known = owner.find(sample.key);
    samples[key].push_back({sample.time, known == owner.end() ? kNoComponent : known->second, sample.weight});
  }
  std::vector<Loop> loops;
  for (auto& [key, each] : samples) {
    if (without.contains(key)) continue;
    std::stable_sort(each.begin(), each.end(), [](const auto& a, const auto& b) { return a.time < b.time; });
    Loop loop = loop_of(profile, key, each);
    if (!loop.iterations.empty()) loops.push_back(std::move(loop));
  }
  return loops;
}

bool named(const Loop& loop, const std::string& name) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  const bool is_number = error == std::errc() && end == name.data() + name.size();
  return loop.name == name || (is_number && loop.component == number);
}

std::string names_of(const std::vector<Loop>& loops) {
  std::set<std::pair<ComponentId, std::string>> names;
  for (const Loop& loop : loops) names.insert({loop.component, loop.name});
  std::string text;
  for (const auto& [component, name] : names)
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, component);
  return text;
}

}  // namespace

const Iteration* Loop::at(std::int32_t tid, TimeNs time) const {
  const auto own = of_thread.find(tid);
  const std::vector<Iteration>& where = own == of_thread.end() ? iterations : own->second;
  const auto after = std::upper_bound(where.begin(), where.end(), time,
                                      [](TimeNs t, const Iteration& each) { return t < each.from; });
  if (after == where.begin() || time >= std::prev(after)->to) return nullptr;
  return &*std::prev(after);
}

double Loop::spread() const {
  constexpr std::size_t kAround = 2;  // on either side
  std::vector<double> lengths, differences;
  for (std::size_t i = 1; i + 1 < iterations.size(); ++i)
    lengths.push_back(static_cast<double>(iterations[i].to - iterations[i].from));
  if (lengths.size() <= kAround) return 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    const std::size_t from = i < kAround ? 0 : i - kAround, to = std::min(lengths.size(), i + kAround + 1);
    std::vector<double> around(lengths.begin() + static_cast<std::ptrdiff_t>(from),
                               lengths.begin() + static_cast<std::ptrdiff_t>(to));
    std::sort(around.begin(), around.end());
    const double median = around[around.size() / 2];
    if (median > 0) differences.push_back(std::abs(lengths[i] - median) / median);
  }
  if (differences.empty()) return 0;
  std::sort(differences.begin(), differences.end());
  return differences[(differences.size() - 1) * 9 / 10];
}

double Loop::median_ns() const {
  if (iterations.empty()) return 0;
  std::vector<double> lengths;
  for (const Iteration& each : iterations) lengths.push_back(static_cast<double>(each.to - each.from));
  std::sort(lengths.begin(), lengths.end());
  const std::size_t middle = lengths.size() / 2;
  return lengths.size() % 2 != 0 ? lengths[middle] : (lengths[middle - 1] + lengths[middle]) / 2;
}

Result<std::vector<Loop>> find_loops(const Profile& profile, const Selection& selection,
                                     IterationsFrom from) {
  std::vector<Loop> loops;
  if (from != IterationsFrom::kSamples) loops = MarkReader(profile, selection).read();
  if (from != IterationsFrom::kMarks) {
    std::set<ExecutionKey> marked;
    for (const Loop& loop : loops) marked.insert(loop.execution);
    for (Loop& loop : sampled_loops(profile, selection, marked)) loops.push_back(std::move(loop));
  }
  if (!loops.empty()) return loops;
  if (from == IterationsFrom::kMarks) return not_found("no iteration was marked (tailor_mark_iteration)");
  if (from == IterationsFrom::kSamples) return not_found("the times of the samples show no loop");
  return not_found(
      "no iteration was marked (tailor_mark_iteration), and the times of the samples show no loop");
}

Result<std::vector<Loop>> choose_loops(std::vector<Loop> loops, const std::string& name) {
  const std::string known = names_of(loops);
  if (!name.empty()) {
    std::erase_if(loops, [&](const Loop& loop) { return !named(loop, name); });
    if (loops.empty()) return invalid(fmt::format("there is no loop \"{}\"; there are: {}", name, known));
    return loops;
  }
  const bool several = std::any_of(loops.begin(), loops.end(), [&](const Loop& loop) {
    return loop.component != loops.front().component || loop.name != loops.front().name;
  });
  if (several) return invalid(fmt::format("there are several loops, choose one with --loop: {}", known));
  return loops;
}

Result<Profile> only_iteration(const Profile& profile, const std::vector<Loop>& loops, std::uint64_t number) {
  std::map<ExecutionKey, std::vector<const Loop*>> by_execution;
  std::uint64_t least = UINT64_MAX, most = 0;
  bool found = false;
  for (const Loop& loop : loops) {
    by_execution[loop.execution].push_back(&loop);
    for (const Iteration& each : loop.iterations) {
      least = std::min(least, each.number);
      most = std::max(most, each.number);
      found = found || each.number == number;
    }
  }
  if (!found) return invalid(fmt::format("there is no iteration {}; they are {} to {}", number, least, most));
  const auto inside = [&](const TimedSample& sample) {
    const auto at = by_execution.find({sample.key->process, sample.key->execution});
    if (at == by_execution.end()) return false;
    return std::any_of(at->second.begin(), at->second.end(), [&](const Loop* loop) {
      const Iteration* iteration = loop->at(sample.tid, sample.time);
      return iteration != nullptr && iteration->number == number;
    });
  };
  return profile.only(
      inside,
      fmt::format("iteration {} of {} to {} of {}, {}", number, least, most, loops.front().name,
                  loops.front().marked ? "as the engine marked them" : "found in the times of the samples"));
}

std::vector<IterationRow> iteration_rows(const Profile& profile, const Selection& selection, const Loop& loop,
                                         const std::function<bool(const TimedSample&)>& keep) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  std::vector<IterationRow> rows;
  std::unordered_map<std::uint64_t, std::size_t> row_of;
  for (const Iteration& each : loop.iterations) {
    row_of.try_emplace(each.number, rows.size());
    rows.push_back({each, {}});
  }
  for (const TimedSample& sample : profile.samples()) {
    if (ExecutionKey{sample.key->process, sample.key->execution} != loop.execution) continue;
    if (!source || sample.key->source != *source) continue;
    if (keep && !keep(sample)) continue;
    const Iteration* at = loop.at(sample.tid, sample.time);
    const auto row = at == nullptr ? row_of.end() : row_of.find(at->number);
    if (row == row_of.end()) continue;
    Cell& cell = rows[row->second].cost;
    const auto weight = static_cast<double>(sample.weight);
    ++cell.samples;
    cell.weight += weight;
    cell.weight_squares += weight * weight;
  }
  return rows;
}

Result<std::vector<Loop>> loops_between(std::vector<Loop> loops, TimeNs from, TimeNs to) {
  for (Loop& loop : loops)
    std::erase_if(loop.iterations, [&](const Iteration& each) { return each.to <= from || each.from >= to; });
  std::erase_if(loops, [](const Loop& loop) { return loop.iterations.empty(); });
  if (loops.empty()) return not_found("there is no iteration in this time");
  return loops;
}

}  // namespace tailor::query
