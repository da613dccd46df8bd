#include "daemon/serve/summarise.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/forwarding_sink.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/sums/costs.h"
#include "daemon/redact/sql_text.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/load_segments.h"
#include "daemon/serve/plan_shape.h"
#include "daemon/serve/run_sums.h"
#include "daemon/serve/short_text.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kMostName = 128, kMostText = 1024;  // bytes

using Handle = std::pair<ProcessId, ExecutionHandle>;

// Passes everything but activity on to a loader and takes note of what it does not keep: which executions
// ended here, and when something was lost.
class NotingSink : public profile::ForwardingSink {
 public:
  // `from_the_start`: the first segment of its recording; else totals before the first watermark are those of
  // its beginning.
  NotingSink(profile::ProfileSink& out, bool from_the_start) : ForwardingSink(out), began_(from_the_start) {}

  std::map<Handle, store::Hour> ended;  // the hour of the end
  std::map<store::Hour, store::HourLoss> losses;
  store::Hour last_hour() const { return hour_; }

  void on_recording(const profile::RecordingInfo& v) override {
    info_ = v;
    out_.on_recording(v);
  }
  void on_execution(const profile::ExecutionRecord& v) override {
    if (v.end != kTimeMax && v.error != store::kDaemonEnded) {
      const std::uint64_t begin = v.wall_begin_ns != 0 ? v.wall_begin_ns : info_.wall_of(v.begin);
      ended[{v.process, v.handle}] =
          hour_of(begin == 0 ? 0 : begin + static_cast<std::uint64_t>(v.end - v.begin));
    }
    out_.on_execution(v);
  }
  void on_samples(std::span<const profile::SampleRecord> v) override {
    if (!v.empty()) hour_ = hour_of(info_.wall_of(v.back().time));
    out_.on_samples(v);
  }
  void on_activity(std::span<const profile::ActivityRecord>) override {}
  void on_accounting(const profile::Accounting& v) override {
    const auto [at, is_new] = totals_.try_emplace(v.process, v);
    const profile::Accounting before = is_new && began_ ? profile::Accounting{} : at->second;
    at->second = v;
    const auto more = [](std::uint64_t now, std::uint64_t then) { return now > then ? now - then : 0; };
    const store::HourLoss lost{more(v.lost_ring, before.lost_ring),
                               more(v.lost_hardware, before.lost_hardware), more(v.late, before.late), 0};
    if (lost.lost_ring + lost.lost_hardware + lost.late > 0) store::add(losses[hour_], lost);
    out_.on_accounting(v);
  }
  void on_watermark(TimeNs v) override {
    began_ = true;
    hour_ = hour_of(info_.wall_of(v));
    out_.on_watermark(v);
  }

 private:
  static store::Hour hour_of(std::uint64_t wall_ns) {
    return static_cast<store::Hour>(wall_ns / store::kHourNs);
  }

  bool began_;
  profile::RecordingInfo info_;
  store::Hour hour_ = 0;
  std::map<ProcessId, profile::Accounting> totals_;
};

// Executions by what their costs are entered under.
class Names {
 public:
  explicit Names(const query::Profile& profile) : profile_(profile) {}

  struct Of {
    std::optional<std::uint32_t> uid;
    std::string fingerprint;
  };
  const Of& of(ProcessId process, ExecutionHandle handle) {
    const auto [at, is_new] = known_.try_emplace({process, handle});
    if (!is_new) return at->second;
    const profile::ExecutionRecord* record = handle == 0 ? nullptr : profile_.execution(process, handle);
    if (record == nullptr) return at->second;
    store::ExecutionRow row;
    row.record = *record;
    if (const query::PlanModel* plan = profile_.plan(process, record->plan)) row.plan_name = plan->name();
    at->second = {record->uid, fingerprint_of(row)};
    queries.insert_or_assign(
        store::QueryKey{record->uid, at->second.fingerprint},
        store::QueryNames{short_text(row.plan_name, kMostName),
                          short_text(redact::without_literals(label_of(row, "query")), kMostText)});
    return at->second;
  }

  std::map<store::QueryKey, store::QueryNames> queries;

 private:
  const query::Profile& profile_;
  std::map<Handle, Of> known_;
};

// Shapes of plans by what the profile calls them.
class Shapes {
 public:
  std::uint64_t of(const query::CellKey& key, const query::PlanModel& plan) {
    const auto [at, is_new] = known_.try_emplace({key.process, key.plan});
    if (is_new) at->second = std::max<std::uint64_t>(1, plan_shape(plan));  // 0 is none
    return at->second;
  }

 private:
  std::map<query::InProcess<PlanId>, std::uint64_t> known_;
};

// The costs of one hour.
class HourSums {
 public:
  HourSums(const query::Profile& profile, Names& names, Shapes& shapes, store::Hour hour, store::Summary& out)
      : profile_(profile), names_(names), shapes_(shapes), hour_(hour), out_(out) {}

  void add(const query::Cost& cost, const profile::Source& source) {
    const auto [process, execution] = profile_.led_by(cost.own_key.process, cost.own_key.execution);
    const Names::Of& of = names_.of(process, execution);
    store::CostKey key{hour_,
                       of.uid,
                       of.fingerprint,
                       store::CostOf::kUnattributed,
                       0,
                       std::string(cost.reason.key),
                       "",
                       source.name,
                       source.unit,
                       kNoPlan};
    switch (cost.what) {
      case query::Cost::Class::kPlan:
        return add_owners(cost, key);
      case query::Cost::Class::kComponent:
        key.what = store::CostOf::kComponent;
        key.name = short_text(profile_.engine_component_name(cost.key.process, cost.key.engine_component),
                              kMostName);
        break;
      case query::Cost::Class::kUnattributed:
        break;
    }
    add(key, cost, store::kParts);
  }

 private:
  static constexpr std::uint64_t kNoPlan = 0;

  // `unowned`: the key of what no operator owns.
  void add_owners(const query::Cost& cost, const store::CostKey& unowned) {
    const query::Owners& owners = cost.lineage->front();
    std::vector<double> shares;
    for (const query::Share& share : owners) shares.push_back(share.part);
    const std::vector<std::uint32_t> parts = store::whole_parts(shares);
    for (std::size_t i = 0; i < owners.size(); ++i) {
      if (parts[i] > 0) add(key_of(cost, owners[i].id, unowned), cost, parts[i]);
    }
  }

  store::CostKey key_of(const query::Cost& cost, ComponentId id, const store::CostKey& unowned) {
    store::CostKey key = unowned;
    key.plan = shapes_.of(cost.key, *cost.plan);
    if (id == kNoComponent) return key;
    key.what = store::CostOf::kOperator;
    key.id = id;
    key.name = short_text(cost.plan->component_name(0, id), kMostName);
    const v1::Component* described = cost.plan->component(0, id);
    if (described != nullptr) key.kind = short_text(described->kind(), kMostName);
    return key;
  }

  void add(const store::CostKey& key, const query::Cost& cost, std::uint32_t parts) {
    const profile::Sum* sum = profile_.sum_of_hour(hour_, cost.own_key);
    if (sum == nullptr) return;  // each cell of the hour has one
    out_.costs[key].add(*sum, parts, cost.key.kernel, cost.key.quality == profile::Quality::kInferred);
  }

  const query::Profile& profile_;
  Names& names_;
  Shapes& shapes_;
  store::Hour hour_;
  store::Summary& out_;
};

void add_costs(const query::Profile& profile, Names& names, store::Summary& out) {
  Shapes shapes;
  for (const store::Hour hour : profile.hours()) {
    const query::Profile one = profile.hour(hour);
    HourSums sums(one, names, shapes, hour, out);
    std::map<std::uint16_t, query::Cell> sources = query::totals_by_source(one, {});
    for (const auto& [index, total] : sources) {
      const profile::Source source = one.source(index);
      query::for_each_cost(one, {}, index, [&](const query::Cost& cost) { sums.add(cost, source); });
    }
  }
}

void add_runs(const query::Profile& profile, const std::map<Handle, store::Hour>& ended, Names& names,
              store::Summary& out) {
  for (const auto& [execution, hour] : ended) {
    const auto& [process, handle] = execution;
    // A worker is a part of its leader's execution.
    if (profile.led_by(process, handle) != query::InProcess<ExecutionHandle>{process, handle}) continue;
    const profile::ExecutionRecord* record = profile.execution(process, handle);
    if (record == nullptr) continue;
    if (profile::runs_of(*record) == 0) continue;
    const Names::Of& of = names.of(process, handle);
    store::add(out.runs[{hour, of.uid, of.fingerprint}], run_sum_of(*record));
  }
}

}  // namespace

std::size_t one_batch(std::span<const store::SegmentRow> rows) {
  constexpr std::uint64_t kMostBytes = 64u << 20;
  constexpr std::size_t kMostSegments = 256;
  std::size_t count = 0;
  std::uint64_t bytes = 0;
  for (const store::SegmentRow& row : rows) {
    bytes += row.bytes;
    const bool fits = row.recording == rows.front().recording && bytes <= kMostBytes && count < kMostSegments;
    if (count > 0 && !fits) break;
    ++count;
  }
  return count;
}

Result<Summarised> summarise(const std::string& directory, const store::Catalogue& catalogue,
                             std::span<const store::SegmentRow> segments, const Stop& stop) {
  // Two segments begin with a recording: that of dictionaries, then that of data.
  const bool from_the_start = segments.front().number == segments.front().recording + 1;
  query::LoadOptions options;
  options.hours = true;
  options.stop = &stop;
  std::optional<NotingSink> noted;
  auto profile = load_segments(directory, catalogue, segments, options,
                               [&](query::ProfileLoader& loader) -> profile::ProfileSink& {
                                 return noted.emplace(loader, from_the_start);
                               });
  if (!profile) return profile.error();
  Summarised out;
  out.summary.first = segments.front().number;
  out.summary.last = segments.back().number;
  out.read = profile->read_report();
  out.read.missing_blocks -= out.read.missing_segments.size();
  out.loss = profile->said_loss();
  out.missing = std::move(out.read.missing_segments);
  Names names(*profile);
  add_costs(*profile, names, out.summary);
  add_runs(*profile, noted->ended, names, out.summary);
  out.summary.losses = std::move(noted->losses);
  out.summary.queries = std::move(names.queries);
  // What was cut out of these segments was so before they were summed up.
  const std::uint64_t unwritten = out.loss.samples + out.loss.removed_samples + out.read.missing_samples;
  if (unwritten > 0) out.summary.losses[noted->last_hour()].unwritten += unwritten;
  return out;
}

}  // namespace tailor::serve
