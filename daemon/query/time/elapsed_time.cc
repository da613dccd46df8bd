#include "daemon/query/time/elapsed_time.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/query/load/added_runs.h"
#include "daemon/query/time/no_sample.h"
#include "daemon/query/time/worked_time.h"
#include "proto/base/errors.h"

namespace tailor::query {
namespace {

using Execution = InProcess<ExecutionHandle>;

// Times of a file may be any numbers: within these, differences fit.
constexpr TimeNs kLatest = TimeNs{1} << 61;

TimeNs bounded(TimeNs time) {
  return std::clamp(time, -kLatest, kLatest);
}

struct Window {
  TimeNs from = 0, to = 0;
};

class Divider {
 public:
  Divider(const Profile& profile, const Selection& selection, std::uint16_t source, TimeNs from, TimeNs to)
      : profile_(profile), selection_(selection), source_(source), from_(bounded(from)), to_(bounded(to)) {}

  Result<ElapsedTime> divide() {
    find_periods();
    judge();
    if (windows_.empty()) return nothing_to_judge();
    sort_samples();
    for (std::size_t i = 0; i < windows_.size(); ++i) divide(i);
    return finish();
  }

 private:
  static constexpr std::uint32_t kNotHere = UINT32_MAX, kOutside = UINT32_MAX - 1, kLeftOut = UINT32_MAX - 2;

  struct Period {
    double weight = 0, samples = 0;
  };

  void find_periods() {
    for (const auto& [key, cell] : profile_.cells()) {
      if (key.source != source_) continue;
      Period& period = periods_[profile_.led_by(key.process, key.execution).first];
      period.weight += cell.weight;
      period.samples += static_cast<double>(cell.samples);
    }
  }

  // ns between two samples of a thread of the process, on average.
  double period_of(ProcessId process) const {
    const auto found = periods_.find(process);
    if (found != periods_.end() && found->second.samples > 0)
      return found->second.weight / found->second.samples;
    return static_cast<double>(profile_.source(source_).period);
  }

  void judge() {
    for (const profile::ExecutionRecord& each : profile_.executions()) {
      const Execution id = {each.process, each.handle};
      if (!selected(selection_, each.process, each.handle) || profile_.led_by(id.first, id.second) != id)
        continue;
      const TimeNs end = each.end == kTimeMax ? profile_.last_time() : each.end;
      const Window window = {std::max(bounded(each.begin), from_), std::min(bounded(end), to_)};
      if (window.from >= window.to && (from_ > -kLatest || to_ < kLatest)) continue;
      if (!each.drawn) {
        ++sum_.not_drawn;
      } else if (adds_up_runs(each)) {
        ++sum_.added_up;
      } else if (static_cast<double>(window.to - window.from) < kLeastPeriods * period_of(each.process) ||
                 window.from >= window.to || windows_.size() >= kLeftOut) {
        ++sum_.too_short;
      } else {
        places_.emplace(id, static_cast<std::uint32_t>(windows_.size()));
        windows_.push_back(window);
        ++sum_.executions;
        sum_.elapsed_ns += static_cast<double>(window.to - window.from);
      }
    }
  }

  Error nothing_to_judge() const {
    if (sum_.too_short > 0)
      return not_found(fmt::format(
          "{} of this selection {} as long as {:.0f} samples' time: what made it take so long cannot be "
          "told. Sample at a higher rate, or ask for CPU time, without --of elapsed",
          sum_.too_short == 1 ? "the execution" : fmt::format("none of the {} executions", sum_.too_short),
          sum_.too_short == 1 ? "is not" : "is", kLeastPeriods));
    if (sum_.added_up > 0)
      return not_found(
          "each execution of this selection is many short runs that its engine added up: what made one run "
          "take so long cannot be told. Ask for CPU time, without --of elapsed");
    return not_found(
        "no sampled execution in this selection: only executions have an elapsed time. Ask for CPU time, "
        "without --of elapsed");
  }

  // The execution that a sample of the cell is of: the place of its window, or one of the constants.
  std::uint32_t place_of(const CellKey* key) {
    const auto [known, added] = place_of_cell_.try_emplace(key, kNotHere);
    if (!added) return known->second;
    const Execution id = profile_.led_by(key->process, key->execution);
    if (key->source != source_ || !selected(selection_, id.first, id.second)) return kNotHere;
    if (const auto found = places_.find(id); found != places_.end()) {
      known->second = found->second;
    } else {
      const bool is_known = key->execution != 0 && profile_.execution(id.first, id.second) != nullptr;
      known->second = is_known ? kLeftOut : kOutside;
    }
    return known->second;
  }

  // Positions of samples, by execution.
  void sort_samples() {
    const std::vector<TimedSample>& samples = profile_.samples();
    begins_.assign(windows_.size() + 1, 0);
    for (const TimedSample& sample : samples) {
      const std::uint32_t place = place_of(sample.key);
      if (place < windows_.size()) ++begins_[place + 1];
      if (place == kOutside && bounded(sample.time) >= from_ && bounded(sample.time) < to_) {
        ++sum_.outside.samples;
        sum_.outside.weight += static_cast<double>(sample.weight);
      }
    }
    for (std::size_t i = 1; i < begins_.size(); ++i) begins_[i] += begins_[i - 1];
    sorted_.resize(begins_.back());
    std::vector<std::size_t> next(begins_.begin(), begins_.end() - 1);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const std::uint32_t place = place_of(samples[i].key);
      if (place < windows_.size()) sorted_[next[place]++] = i;
    }
  }

  std::uint64_t thread_number(const TimedSample& sample) {
    const auto [known, added] =
        threads_.try_emplace({sample.key->process, sample.tid}, static_cast<std::uint64_t>(threads_.size()));
    return known->second;
  }

  void divide(std::size_t place) {
    std::vector<WorkSpan> spans;
    spans.reserve(begins_[place + 1] - begins_[place]);
    for (std::size_t i = begins_[place]; i < begins_[place + 1]; ++i) {
      const TimedSample& sample = profile_.samples()[sorted_[i]];
      const TimeNs end = bounded(sample.time);
      const auto length = static_cast<TimeNs>(std::min(sample.weight, static_cast<std::uint64_t>(kLatest)));
      spans.push_back({end - length, end, thread_number(sample)});
    }
    const WorkedTime worked = divide_elapsed(spans, windows_[place].from, windows_[place].to);
    sum_.worked_ns += static_cast<double>(worked.covered);
    std::map<std::pair<const CellKey*, std::uint64_t>, ThreadWork> work;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      if (worked.worked[i] == 0) continue;  // all of it is outside of the time
      const CellKey* key = profile_.samples()[sorted_[begins_[place] + i]].key;
      const auto cpu_ns = static_cast<double>(worked.worked[i]);
      ThreadWork& of_thread = work[{key, spans[i].thread}];
      of_thread.cpu_ns += cpu_ns;
      of_thread.squares += cpu_ns * cpu_ns;
      Cell& cell = cells_[key];
      ++cell.samples;
      cell.weight += worked.parts[i];
      cell.weight_squares += worked.parts[i] * worked.parts[i];
      cell.cpu += cpu_ns;
      sum_.cpu_ns += cpu_ns;
    }
    for (const auto& [of, done] : work)
      work_[*of.first].push_back({static_cast<std::uint32_t>(place), of.second, done.cpu_ns, done.squares});
  }

  ElapsedTime finish() {
    // Other sources stay as they are.
    Cells all;
    for (const auto& [key, cell] : profile_.cells()) {
      if (key.source != source_) all.emplace_back(key, cell);
    }
    for (const auto& [key, cell] : cells_) all.emplace_back(*key, cell);
    std::ranges::sort(all, {}, &Cells::value_type::first);
    ElapsedTime out{profile_.with_cells(std::move(all)), selection_, sum_, std::move(work_)};
    out.selection.source = source_;
    out.selection.base = Base::kEverything;
    return out;
  }

  const Profile& profile_;
  const Selection& selection_;
  const std::uint16_t source_;
  const TimeNs from_, to_;
  ElapsedSum sum_;
  std::map<ProcessId, Period> periods_;
  std::vector<Window> windows_;  // of the executions that are judged
  std::map<Execution, std::uint32_t> places_;
  std::unordered_map<const CellKey*, std::uint32_t> place_of_cell_;
  std::vector<std::size_t> begins_, sorted_;
  std::map<InProcess<std::int32_t>, std::uint64_t> threads_;
  std::unordered_map<const CellKey*, Cell> cells_;
  std::map<CellKey, std::vector<ThreadWork>> work_;
};

// What other sources there are that would do.
std::string sources_of_cpu_time(const Profile& profile, const Selection& selection) {
  std::string names;
  for (const auto& [index, total] : totals_by_source(profile, selection)) {
    const profile::Source source = profile.source(index);
    if (source.unit == profile::Unit::kNsOnCpu) names += (names.empty() ? "" : ", ") + source.name;
  }
  return names;
}

}  // namespace

Result<ElapsedTime> elapsed_time(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return no_sample(profile, selection);
  if (const profile::Source shown = profile.source(*source); shown.unit != profile::Unit::kNsOnCpu) {
    const std::string others = sources_of_cpu_time(profile, selection);
    return invalid(fmt::format(
        "samples of {} do not stand for time on the CPU, so elapsed time cannot be divided by them. {}",
        shown.name,
        others.empty() ? std::string("Record with a timer (cpu-clock)") : "Choose the source " + others));
  }
  if (profile.recording().aggregated_ns > 0)
    return invalid(
        "samples of this recording were added up: when they were taken is not known, so elapsed time cannot "
        "be divided by them. Record without --aggregate");
  return Divider(profile, selection, *source, from, to).divide();
}

}  // namespace tailor::query
