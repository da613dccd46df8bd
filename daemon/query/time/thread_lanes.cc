#include "daemon/query/time/thread_lanes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/time/no_sample.h"

namespace tailor::query {
namespace {

using ThreadKey = InProcess<std::int32_t>;

// One thread's log from begin to end.
class MarkPairs {
 public:
  MarkPairs(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to)
      : profile_(profile), selection_(selection), from_(from), to_(to) {}

  void take(const profile::ActivityRecord& record) {
    switch (record.kind) {
      case TAILOR_LOG_EXECUTION_BEGIN:
        open(record, "execution", record.a);
        executions_.push_back({record.a, record.b});
        return;
      case TAILOR_LOG_EXECUTION_END:
        close(record, "execution");
        if (!executions_.empty()) executions_.pop_back();
        return;
      case TAILOR_LOG_PIPELINE_BEGIN:
        return open(record, "pipeline", record.id);
      case TAILOR_LOG_PIPELINE_END:
        return close(record, "pipeline");
      case TAILOR_LOG_MORSEL_BEGIN:
        return open(record, "morsel", record.id);
      case TAILOR_LOG_MORSEL_END:
        return close(record, "morsel");
      case TAILOR_LOG_COMPONENT_BEGIN:
        return open(record, "component", record.id);
      case TAILOR_LOG_COMPONENT_END:
        return close(record, "component");
      default:
        return;
    }
  }

  void finish(ThreadLane& lane) {
    for (const Open& each : open_) keep(each.mark, each.selected);
    std::stable_sort(marks_.begin(), marks_.end(),
                     [](const auto& a, const auto& b) { return a.from < b.from; });
    lane.marks_total = marks_.size();
    if (marks_.size() > kMostMarks) marks_.resize(kMostMarks);
    lane.marks = std::move(marks_);
  }

 private:
  struct Open {
    ThreadMark mark;
    bool selected = true;
  };
  struct Execution {
    std::uint64_t handle = 0, plan = 0;
  };
  static constexpr std::size_t kDeepest = 256;  // a log can open more than it closes

  bool selected_now(const profile::ActivityRecord& record) const {
    const std::uint64_t handle = record.kind == TAILOR_LOG_EXECUTION_BEGIN ? record.a
                                 : executions_.empty()                     ? 0
                                                                           : executions_.back().handle;
    const auto [process, execution] = profile_.led_by(record.process, handle);
    return selected(selection_, process, execution);
  }

  void open(const profile::ActivityRecord& record, const char* kind, std::uint64_t id) {
    if (open_.size() >= kDeepest) return;
    ThreadMark mark{kind, id, {}, {}, record.time, kTimeMax};
    name(record, mark);
    open_.push_back({std::move(mark), selected_now(record)});
  }

  void close(const profile::ActivityRecord& record, std::string_view kind) {
    const auto found =
        std::find_if(open_.rbegin(), open_.rend(), [&](const Open& each) { return each.mark.kind == kind; });
    if (found == open_.rend()) return;
    found->mark.to = std::max(record.time, found->mark.from);
    keep(found->mark, found->selected);
    open_.erase(std::prev(found.base()));
  }

  void keep(const ThreadMark& mark, bool is_selected) {
    if (is_selected && mark.from < to_ && mark.to >= from_) marks_.push_back(mark);
  }

  void name(const profile::ActivityRecord& record, ThreadMark& mark) const {
    const PlanId plan = executions_.empty() ? 0 : executions_.back().plan;
    if (mark.kind == "execution") {
      const profile::ExecutionRecord* execution = profile_.execution(record.process, record.a);
      mark.key = execution == nullptr ? "" : hex(execution->id);
      const PlanModel* model = profile_.plan(record.process, record.b);
      mark.name = model == nullptr ? mark.key : model->name();
    } else if (mark.kind == "component") {
      mark.key = component_key(record.process, record.id);
      mark.name = profile_.engine_component_name(record.process, record.id);
    } else {
      CellKey own;
      own.process = record.process;
      own.plan = plan;
      own.execution = executions_.empty() ? 0 : executions_.back().handle;
      const CellKey shown = profile_.for_leader(own);
      mark.key = pipeline_key(shown.process, shown.plan, record.id);
      mark.name = fmt::format("pipeline {}", record.id);
      if (const PlanModel* model = profile_.plan(shown.process, shown.plan)) {
        for (const v1::Pipeline& pipeline : model->plan().pipelines()) {
          if (pipeline.id() == record.id && !pipeline.name().empty()) mark.name = pipeline.name();
        }
      }
    }
  }

  const Profile& profile_;
  const Selection& selection_;
  TimeNs from_, to_;
  std::vector<Open> open_;
  std::vector<Execution> executions_;
  std::vector<ThreadMark> marks_;
};

void add_samples(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to,
                 const std::function<bool(const TimedSample&)>& keep, ThreadReport& report,
                 std::map<ThreadKey, ThreadLane>& lanes) {
  for (const TimedSample& sample : profile.samples()) {
    if (sample.key->source != report.source.index || sample.time < from || sample.time >= to) continue;
    const auto [process, execution] = profile.led_by(sample.key->process, sample.key->execution);
    if (!selected(selection, process, execution)) continue;
    if (keep && !keep(sample)) continue;
    ThreadLane& lane = lanes[{sample.key->process, sample.tid}];
    lane.samples += 1;
    lane.weight += static_cast<double>(sample.weight);
    report.samples += 1;
    report.weight += static_cast<double>(sample.weight);
  }
}

// A sample of time off the CPU has the time of its end and weighs what it lasted.
void add_waits(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to,
               const std::function<bool(const TimedSample&)>& keep, std::map<ThreadKey, ThreadLane>& lanes) {
  for (const auto& [index, total] : totals_by_source(profile, selection)) {
    if (profile.source(index).unit != profile::Unit::kNsOffCpu) continue;
    const OwnerTable owners(profile, selection, index, OwnedBy::kOperator);
    for (const TimedSample& sample : profile.samples()) {
      const std::vector<OwnerPart>* parts = owners.parts(sample.key);
      const TimeNs begin =
          sample.time - static_cast<TimeNs>(std::min<std::uint64_t>(sample.weight, INT64_MAX / 2));
      if (parts == nullptr || sample.time < from || begin >= to) continue;
      // One that reaches beyond the time is shown as a whole.
      TimedSample inside = sample;
      inside.time = std::min(sample.time, to - 1);
      if (keep && !keep(inside)) continue;
      ThreadLane& lane = lanes[{sample.key->process, sample.tid}];
      lane.off_cpu_ns += static_cast<double>(sample.weight);
      const auto most = std::max_element(parts->begin(), parts->end(),
                                         [](const auto& a, const auto& b) { return a.part < b.part; });
      lane.waits.push_back({begin, sample.time, sample.key->wait, profile.wait_event(sample.key->engine_wait),
                            most == parts->end() ? std::string() : owners.owners()[most->owner].key});
    }
    return;
  }
}

void keep_longest(std::vector<ThreadWait>& waits) {
  if (waits.size() > kMostMarks) {
    std::nth_element(waits.begin(), waits.begin() + kMostMarks, waits.end(),
                     [](const auto& a, const auto& b) { return a.to - a.from > b.to - b.from; });
    waits.resize(kMostMarks);
  }
  std::sort(waits.begin(), waits.end(), [](const auto& a, const auto& b) { return a.from < b.from; });
}

}  // namespace

Result<ThreadReport> thread_report(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to,
                                   const std::function<bool(const TimedSample&)>& keep) {
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return no_sample(profile, selection);
  ThreadReport report;
  report.source = profile.source(*source);
  std::map<ThreadKey, ThreadLane> lanes;
  add_samples(profile, selection, from, to, keep, report, lanes);
  add_waits(profile, selection, from, to, keep, lanes);
  std::map<ThreadKey, std::vector<const profile::ActivityRecord*>> logs;
  for (const profile::ActivityRecord& record : profile.activity())
    logs[{record.process, record.tid}].push_back(&record);
  for (auto& [key, log] : logs) {
    std::stable_sort(log.begin(), log.end(), [](const auto* a, const auto* b) { return a->time < b->time; });
    MarkPairs pairs(profile, selection, from, to);
    for (const profile::ActivityRecord* record : log) pairs.take(*record);
    ThreadLane lane;
    pairs.finish(lane);
    if (lane.marks.empty()) continue;
    ThreadLane& known = lanes[key];
    known.marks = std::move(lane.marks);
    known.marks_total = lane.marks_total;
  }
  for (auto& [key, lane] : lanes) {
    std::tie(lane.process, lane.tid) = key;
    lane.name = profile.thread_name(lane.process, lane.tid);
    keep_longest(lane.waits);
    report.threads.push_back(std::move(lane));
  }
  if (report.threads.empty()) return not_found("no thread has samples or marks in this selection");
  return report;
}

}  // namespace tailor::query
