// The views over time.
#include <fmt/format.h>

#include <set>

#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/region_report.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/memory_points.h"
#include "daemon/query/sums/sample_columns.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/no_sample.h"
#include "daemon/query/time/thread_lanes.h"
#include "daemon/serve/view_json.h"
#include "daemon/serve/views.h"

namespace tailor::serve {
namespace {

std::string_view lanes_key(query::Lanes lanes) {
  return lanes == query::Lanes::kAll ? "all" : lanes == query::Lanes::kPipeline ? "pipeline" : "thread";
}

Json time_json(TimeNs time, TimeNs origin) {
  return time == kTimeMax ? Json(nullptr) : Json(time - origin);
}

Json lane_json(const query::TimelineLane& lane) {
  Json out = {
      {"key", lane.key}, {"kind", lanes_key(lane.kind)}, {"id", lane.id},          {"name", lane.name},
      {"tid", lane.tid}, {"weight", lane.weight},        {"series", Json::array()}};
  for (const query::TimelineSeries& series : lane.series) {
    out["series"].push_back({{"key", series.owner.key},
                             {"name", series.owner.name},
                             {"kind", series.owner.kind},
                             {"samples", series.samples},
                             {"weights", series.weights}});
  }
  return out;
}

Json workers_json(const std::optional<query::WorkersLane>& lane) {
  if (!lane) return nullptr;
  Json out = {{"threads", lane->threads}, {"working", lane->working}, {"waiting", nullptr}};
  if (!lane->waiting.empty()) out["waiting"] = lane->waiting;
  return out;
}

// Executions and iterations that overlap the time.
Json span_marks(const View& view, TimeNs from, TimeNs to) {
  constexpr std::size_t kMost = 1000;
  Json out = Json::array();
  for (const profile::ExecutionRecord& execution : view.whole->executions()) {
    if (!query::selected(view.selection, execution.process, execution.handle)) continue;
    if (execution.begin >= to || execution.end < from) continue;
    const query::PlanModel* plan = view.whole->plan(execution.process, execution.plan);
    out.push_back({{"kind", "execution"},
                   {"name", plan == nullptr ? query::hex(execution.id) : plan->name()},
                   {"key", query::hex(execution.id)},
                   {"from_ns", execution.begin - view.origin},
                   {"to_ns", time_json(execution.end, view.origin)},
                   {"tid", 0}});
    if (out.size() >= kMost) break;
  }
  return out;
}

Json wait_json(const query::ThreadWait& wait, TimeNs origin) {
  return {{"from_ns", wait.from - origin},
          {"to_ns", wait.to - origin},
          {"wait", query::wait_key(wait.wait)},
          {"event", wait.event},
          {"key", wait.key}};
}

Json thread_json(const query::ThreadLane& lane, TimeNs origin) {
  Json out = {{"process", query::process_json(lane.process)},
              {"tid", lane.tid},
              {"name", lane.name},
              {"samples", lane.samples},
              {"weight", lane.weight},
              {"marks", Json::array()}};
  for (const query::ThreadMark& mark : lane.marks) {
    out["marks"].push_back({{"kind", mark.kind},
                            {"id", mark.id},
                            {"name", mark.name},
                            {"key", mark.key},
                            {"from_ns", mark.from - origin},
                            {"to_ns", time_json(mark.to, origin)}});
  }
  out["marks_total"] = lane.marks_total;
  out["off_cpu"] = Json::array();
  for (const query::ThreadWait& wait : lane.waits) out["off_cpu"].push_back(wait_json(wait, origin));
  out["off_cpu_ns"] = lane.off_cpu_ns;
  return out;
}

Json region_json(const View& view, const query::RegionLife& life) {
  Json out = {{"key", fmt::format("region:{}:{:#x}:{}", query::process_key(life.process), life.base,
                                  life.from - view.origin)},
              {"kind", life.kind},
              {"name", view.whole->region_name(life.process, life.kind)}};
  const auto known = view.whole->region_kinds().find({life.process, life.kind});
  if (known != view.whole->region_kinds().end()) {
    out["element_bytes"] = known->second.element_bytes();
    out["role"] = query::role_key(known->second.role());
  }
  out["base"] = fmt::format("{:#x}", life.base);
  out["size"] = life.size;
  out["tid"] = life.tid;
  out["from_ns"] = life.from - view.origin;
  out["to_ns"] = time_json(life.to, view.origin);
  out["samples"] = life.samples;
  return out;
}

Json by_region_json(const query::RegionRow& row) {
  Json out = {{"kind", row.kind},
              {"name", row.name},
              {"role", row.role},
              {"regions", row.regions},
              {"pattern", query::pattern_key(row.walk.pattern)},
              {"latency_cycles", row.latency}};
  if (row.walk.pattern == query::Pattern::kStrided) out["stride_bytes"] = row.walk.stride;
  query::add_cost(out, row.cost);
  return out;
}

Json points_json(const query::MemoryPoints& points, TimeNs origin) {
  Json times = Json::array();
  for (TimeNs time : points.time) times.push_back(time - origin);
  return {{"count", points.time.size()}, {"total", points.total},   {"time_ns", std::move(times)},
          {"region", points.region},     {"offset", points.offset}, {"operator", points.owner},
          {"pipeline", points.pipeline}, {"tid", points.tid},       {"weight", points.weight},
          {"latency", points.latency}};
}

Json cell_json(const View& view, const query::SampleCell& cell, const std::vector<std::uint16_t>& sources) {
  const query::CellKey& key = *cell.key;
  std::size_t source = 0;
  while (source < sources.size() && sources[source] != key.source) ++source;
  Json out = {{"source", source},
              {"plan_key", cell.plan == 0 ? "" : query::plan_key(cell.plan_process, cell.plan)},
              {"pid", key.process.pid},
              {"pipeline", key.pipeline},
              {"how", query::term(key.how).key},
              {"kernel", key.kernel},
              {"quality", query::term(key.quality).key},
              {"owner", cell.what == query::Cost::Class::kPlan        ? "plan"
                        : cell.what == query::Cost::Class::kComponent ? "component"
                                                                      : "unattributed"},
              {"levels", Json::object()},
              {"key", cell.owner_key},
              {"wait", key.wait == profile::Wait::kNone ? "" : query::wait_key(key.wait)},
              {"event", view.whole->wait_event(key.engine_wait)}};
  for (const auto& [name, owners] : cell.levels) {
    Json parts = Json::array();
    for (const query::Share& share : owners) parts.push_back(Json::array({share.id, share.part}));
    out["levels"][name] = std::move(parts);
  }
  return out;
}

void add_cells(const View& view, const std::vector<std::uint16_t>& sources,
               const std::vector<query::SampleCell>& cells, Json& out) {
  out["sources"] = Json::array();
  for (std::uint16_t source : sources)
    out["sources"].push_back(query::source_json(view.whole->source(source)));
  out["cells"] = Json::array();
  for (const query::SampleCell& cell : cells) out["cells"].push_back(cell_json(view, cell, sources));
}

Json since_origin(const std::vector<TimeNs>& times, TimeNs origin) {
  Json out = Json::array();
  for (TimeNs time : times) out.push_back(time - origin);
  return out;
}

}  // namespace

Result<query::Timeline> timeline_of(const View& view, const TimelineRequest& request) {
  return query::timeline(
      *view.whole, view.selection,
      {request.buckets, request.lanes, request.by, view.from, view.to, view.keep, view.keep_of_any_time});
}

Result<Json> timeline_json(const View& view, const TimelineRequest& request) {
  auto line = timeline_of(view, request);
  if (!line) return line.error();
  Json out = {{"view", view_json(view, line->source, line->samples, line->weight)},
              {"from_ns", line->from - view.origin},
              {"to_ns", line->to - view.origin},
              {"bucket_ns", line->bucket_ns},
              {"buckets", line->buckets},
              {"lanes", Json::array()}};
  for (const query::TimelineLane& lane : line->lanes) out["lanes"].push_back(lane_json(lane));
  out["workers"] = workers_json(line->workers);
  out["marks"] = span_marks(view, line->from, line->to);
  add_accounts(view, out);
  return out;
}

Result<Json> memory_json(const View& view, std::size_t points) {
  auto report = query::memory_report(view.profile, view.selection);
  if (!report) return report.error();
  Json out = {{"view", view_json(view, report->source, static_cast<double>(report->total.samples),
                                 report->total.weight)}};
  out.update(query::json_of(view.profile, *report));
  const query::MemoryPoints all =
      query::memory_points(*view.whole, view.selection, report->source.index, points, view.keep);
  const query::MemoryPoints every =
      query::memory_points(*view.whole, view.selection, report->source.index, query::kAllPoints, view.keep);
  out["by_region"] = Json::array();
  for (const query::RegionRow& row : query::region_rows(view.profile, *report, every))
    out["by_region"].push_back(by_region_json(row));
  out["regions"] = Json::array();
  for (const query::RegionLife& life : all.regions) out["regions"].push_back(region_json(view, life));
  out["operators"] = Json::array();
  for (const query::Owner& owner : all.owners) out["operators"].push_back(owner.key);
  out["points"] = points_json(all, view.origin);
  return out;
}

Result<Json> threads_json(const View& view) {
  auto report = query::thread_report(*view.whole, view.selection, view.from, view.to, view.keep);
  if (!report) return report.error();
  Json out = {{"view", view_json(view, report->source, report->samples, report->weight)},
              {"threads", Json::array()}};
  for (const query::ThreadLane& lane : report->threads)
    out["threads"].push_back(thread_json(lane, view.origin));
  if (auto plan = query::plan_report(view.profile, view.selection); plan.ok() && plan->off_cpu) {
    Json whole = query::json_of(view.profile, *plan);
    out["off_cpu"] = std::move(whole["off_cpu"]);
  }
  add_accounts(view, out);
  return out;
}

std::uint64_t samples_in(const View& view) {
  std::uint64_t samples = 0;
  for (const auto& [source, total] : query::totals_by_source(view.profile, view.selection)) {
    if (!view.selection.source || source == *view.selection.source) samples += total.samples;
  }
  return samples;
}

Result<Json> slices_json(const View& view, std::size_t limit) {
  auto columns = query::slice_columns(*view.whole, view.selection, limit);
  if (!columns) return columns.error();
  if (columns->sources.empty()) return query::no_sample(*view.whole, view.selection);
  const std::uint16_t shown =
      view.selection.source.value_or(*query::default_source(*view.whole, view.selection));
  double samples = 0, weight = 0;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < columns->cell.size(); ++i) {
    total += columns->samples[i];
    if (columns->cells[columns->cell[i]].key->source != shown) continue;
    samples += static_cast<double>(columns->samples[i]);
    weight += static_cast<double>(columns->weight[i]);
  }
  Json out = {{"view", view_json(view, view.whole->source(shown), samples, weight)}};
  add_cells(view, columns->sources, columns->cells, out);
  out["total"] = total;
  out["count"] = columns->time.size();
  out["slice_ns"] = columns->slice_ns;
  out["time_ns"] = since_origin(columns->time, view.origin);
  out["tid"] = Json::array();
  out["samples"] = columns->samples;
  out["weight"] = columns->weight;
  out["squares"] = columns->squares;
  out["cell"] = columns->cell;
  add_accounts(view, out);
  return out;
}

Result<Json> samples_json(const View& view, std::size_t limit) {
  auto columns = query::sample_columns(*view.whole, view.selection, limit, view.keep);
  if (!columns) return columns.error();
  if (columns->sources.empty()) return query::no_sample(*view.whole, view.selection);
  // Units are never added together: the view speaks of one source, the columns have all.
  const std::uint16_t shown =
      view.selection.source.value_or(*query::default_source(*view.whole, view.selection));
  double samples = 0, weight = 0;
  for (std::size_t i = 0; i < columns->cell.size(); ++i) {
    if (columns->cells[columns->cell[i]].key->source != shown) continue;
    samples += 1;
    weight += static_cast<double>(columns->weight[i]);
  }
  Json out = {{"view", view_json(view, view.whole->source(shown), samples, weight)}};
  add_cells(view, columns->sources, columns->cells, out);
  out["total"] = columns->time.size();
  out["count"] = columns->time.size();
  out["time_ns"] = since_origin(columns->time, view.origin);
  out["tid"] = columns->tid;
  out["weight"] = columns->weight;
  out["cell"] = columns->cell;
  add_accounts(view, out);
  return out;
}

}  // namespace tailor::serve
