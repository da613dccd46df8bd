#include "daemon/query/time/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <tuple>
#include <unordered_set>

#include "daemon/query/sums/flame_functions.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/no_sample.h"

namespace tailor::query {
namespace {

constexpr std::size_t kMaxLanes = 64;
constexpr std::size_t kMaxNumbers = std::size_t{4} << 20;

// Which lane a sample is in: of a pipeline (process, plan, pipeline), of a thread (process, 0, tid).
using LaneKey = std::tuple<ProcessId, PlanId, std::int64_t>;

struct Placed {
  const TimedSample* sample = nullptr;
  const CellKey* key = nullptr;  // under the leader of its execution, where it has one
  const std::vector<OwnerPart>* parts = nullptr;
};

class Builder {
 public:
  Builder(const Profile& profile, const Selection& selection, std::uint16_t source,
          const TimelineOptions& options)
      : profile_(profile),
        selection_(selection),
        source_(source),
        options_(options),
        owners_(profile, selection, source,
                options.by == OwnedBy::kFunction ? OwnedBy::kOperator : options.by) {
    if (options.by == OwnedBy::kFunction) names_.emplace(profile);
    out_.source = profile.source(source);
    const auto [begin, end] = time_span(profile, selection);
    out_.from = options.from == kTimeMin ? begin : options.from;
    out_.to = std::max(options.to == kTimeMax ? end : options.to, out_.from + 1);
    out_.buckets = options.buckets;
    out_.bucket_ns = static_cast<double>(out_.to - out_.from) / out_.buckets;
  }

  Result<Timeline> build() {
    collect();
    if (placed_.empty()) return not_found("no sample in this selection and time");
    choose_lanes();
    if (const std::size_t rows = count_rows(); rows * options_.buckets > kMaxNumbers)
      return exhausted(fmt::format("{} rows in {} buckets are too many: ask for at most {} buckets", rows,
                                   options_.buckets, std::max<std::size_t>(1, kMaxNumbers / rows)));
    for (const Placed& placed : placed_) add(placed);
    for (TimelineLane& lane : out_.lanes) sort(lane);
    out_.workers = workers_lane(profile_, selection_, source_, out_.from, out_.to, out_.buckets,
                                options_.keep_of_any_time);
    return std::move(out_);
  }

 private:
  void collect() {
    for (const TimedSample& sample : profile_.samples()) {
      if (sample.time < out_.from || sample.time >= out_.to) continue;
      const std::vector<OwnerPart>* parts = owners_.parts(sample.key);
      if (parts == nullptr || (options_.keep && !options_.keep(sample))) continue;
      const auto [key, added] = led_keys_.try_emplace(sample.key);
      if (added) key->second = profile_.for_leader(*sample.key);
      placed_.push_back({&sample, &key->second, names_ ? &part_of_function(sample) : parts});
    }
  }

  // The whole sample belongs to the function.
  const std::vector<OwnerPart>& part_of_function(const TimedSample& sample) {
    const std::uint32_t function = names_->of_place(profile_.functions().nodes[sample.node].place);
    const auto [known, added] = function_parts_.try_emplace(function);
    if (added) {
      known->second = {{static_cast<std::uint32_t>(functions_.size()), 0, 1}};
      const FlameStep step = flame_step_of(names_->at(function));
      functions_.push_back({step.key, step.name, step.kind});
    }
    return known->second;
  }

  const Owner& owner(std::uint32_t number) const {
    return names_ ? functions_[number] : owners_.owners()[number];
  }

  LaneKey lane_of(const Placed& placed, const OwnerPart& part) const {
    if (options_.lanes == Lanes::kThread) return {placed.sample->key->process, 0, placed.sample->tid};
    return {placed.key->process, placed.key->plan, part.pipeline};
  }

  void choose_lanes() {
    out_.lanes.push_back({"all", "all", Lanes::kAll, 0, 0, 0, {}});
    rows_.emplace_back();
    if (options_.lanes == Lanes::kAll) return;
    std::map<LaneKey, double> weights;
    for (const Placed& placed : placed_) {
      for (const OwnerPart& part : *placed.parts)
        weights[lane_of(placed, part)] += static_cast<double>(placed.sample->weight) * part.part;
    }
    std::vector<std::pair<double, LaneKey>> order;
    for (const auto& [lane, weight] : weights) order.emplace_back(weight, lane);
    std::stable_sort(order.begin(), order.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    for (const auto& [weight, lane] : order) {
      if (out_.lanes.size() > kMaxLanes) break;
      lanes_[lane] = out_.lanes.size();
      out_.lanes.push_back(describe(lane));
      rows_.emplace_back();
    }
    if (order.size() <= kMaxLanes) return;
    rest_ = out_.lanes.size();
    out_.lanes.push_back(
        {"rest", fmt::format("{} more", order.size() - kMaxLanes), options_.lanes, 0, 0, 0, {}});
    rows_.emplace_back();
  }

  std::size_t lane_number(const Placed& placed, const OwnerPart& part) const {
    const auto found = lanes_.find(lane_of(placed, part));
    return found == lanes_.end() ? rest_ : found->second;
  }

  // Of all lanes.
  std::size_t count_rows() const {
    std::unordered_set<std::uint64_t> rows;
    for (const Placed& placed : placed_) {
      for (const OwnerPart& part : *placed.parts) {
        rows.insert(part.owner);
        if (options_.lanes != Lanes::kAll)
          rows.insert(std::uint64_t{lane_number(placed, part)} << 32 | part.owner);
      }
    }
    return rows.size();
  }

  TimelineLane describe(const LaneKey& key) const {
    const auto& [process, plan, number] = key;
    TimelineLane lane;
    lane.kind = options_.lanes;
    if (options_.lanes == Lanes::kThread) {
      lane.tid = static_cast<std::int32_t>(number);
      lane.key = fmt::format("thread:{}:{}", process_key(process), number);
      lane.name = profile_.thread_name(process, lane.tid);
      if (lane.name.empty()) lane.name = fmt::format("thread {}", number);
      return lane;
    }
    lane.id = static_cast<std::uint32_t>(number);
    lane.key = pipeline_key(process, plan, lane.id);
    const PlanModel* model = plan == 0 ? nullptr : profile_.plan(process, plan);
    if (model == nullptr) {
      lane.name = "outside of plans";
      return lane;
    }
    lane.name = lane.id == 0 ? "outside of pipelines" : fmt::format("pipeline {}", lane.id);
    for (const v1::Pipeline& pipeline : model->plan().pipelines()) {
      if (pipeline.id() == lane.id && lane.id != 0 && !pipeline.name().empty()) lane.name = pipeline.name();
    }
    return lane;
  }

  void add(const Placed& placed) {
    const auto weight = static_cast<double>(placed.sample->weight);
    const double at = static_cast<double>(placed.sample->time - out_.from) / out_.bucket_ns;
    const std::size_t bucket = std::min<std::size_t>(static_cast<std::size_t>(at), out_.buckets - 1);
    out_.samples += 1;
    out_.weight += weight;
    for (const OwnerPart& part : *placed.parts) {
      add(0, part, bucket, weight);
      if (options_.lanes == Lanes::kAll) continue;
      add(lane_number(placed, part), part, bucket, weight);
    }
  }

  void add(std::size_t number, const OwnerPart& part, std::size_t bucket, double weight) {
    TimelineLane& lane = out_.lanes[number];
    lane.weight += weight * part.part;
    const auto [row, added] = rows_[number].try_emplace(part.owner, lane.series.size());
    if (added)
      lane.series.push_back(
          {owner(part.owner), std::vector<double>(out_.buckets), std::vector<double>(out_.buckets)});
    TimelineSeries& series = lane.series[row->second];
    series.samples[bucket] += part.part;
    series.weights[bucket] += weight * part.part;
  }

  static void sort(TimelineLane& lane) {
    auto sum = [](const TimelineSeries& series) {
      double all = 0;
      for (double weight : series.weights) all += weight;
      return all;
    };
    std::vector<std::pair<double, std::size_t>> order;
    for (std::size_t i = 0; i < lane.series.size(); ++i) order.emplace_back(-sum(lane.series[i]), i);
    std::sort(order.begin(), order.end());
    std::vector<TimelineSeries> sorted;
    for (const auto& [weight, i] : order) sorted.push_back(std::move(lane.series[i]));
    lane.series = std::move(sorted);
  }

  const Profile& profile_;
  const Selection& selection_;
  const std::uint16_t source_;
  const TimelineOptions& options_;
  OwnerTable owners_;
  std::optional<NamedFunctions> names_;  // by function
  std::vector<Owner> functions_;
  std::unordered_map<std::uint32_t, std::vector<OwnerPart>> function_parts_;
  Timeline out_;
  std::unordered_map<const CellKey*, CellKey> led_keys_;  // by the cell's own key
  std::vector<Placed> placed_;
  std::map<LaneKey, std::size_t> lanes_;
  std::size_t rest_ = 0;
  std::vector<std::unordered_map<std::uint32_t, std::size_t>> rows_;  // by lane: owner > series
};

}  // namespace

std::pair<TimeNs, TimeNs> time_span(const Profile& profile, const Selection& selection) {
  TimeNs from = kTimeMax, to = kTimeMin;
  for (const profile::ExecutionRecord& execution : profile.executions()) {
    if (!selected(selection, execution.process, execution.handle)) continue;
    from = std::min(from, execution.begin);
    to = std::max(to, execution.end == kTimeMax ? profile.last_time() + 1 : execution.end);
  }
  const bool all = selection.executions.empty();
  for (const TimedSample& sample : profile.samples()) {
    if (!all && from <= to) break;
    const auto [process, execution] = profile.led_by(sample.key->process, sample.key->execution);
    if (!selected(selection, process, execution)) continue;
    from = std::min(from, sample.time);
    to = std::max(to, sample.time + 1);
  }
  if (from > to) from = profile.recording().start, to = std::max(profile.last_time(), from) + 1;
  return {from, std::max(to, from + 1)};
}

Result<Timeline> timeline(const Profile& profile, const Selection& selection,
                          const TimelineOptions& options) {
  if (options.by == OwnedBy::kFunction && profile.functions().nodes.empty())
    return invalid("the functions of this profile were not loaded");
  if (options.buckets == 0 || options.buckets > kMaxBuckets)
    return invalid(fmt::format("a timeline has 1 to {} buckets, not {}", kMaxBuckets, options.buckets));
  const auto source = selection.source ? selection.source : default_source(profile, selection);
  if (!source) return no_sample(profile, selection);
  return Builder(profile, selection, *source, options).build();
}

}  // namespace tailor::query
