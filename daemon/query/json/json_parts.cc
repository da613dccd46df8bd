#include "daemon/query/json/json_parts.h"

#include "daemon/profile/draw.h"
#include "daemon/query/load/damage.h"
#include "daemon/query/reports/cost_columns.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/wall_time.h"

namespace tailor::query {

Json process_json(ProcessId process) {
  return {{"pid", process.pid}, {"start", process.start}};
}

void add_cost(Json& out, const Share95& cost) {
  for (const CostColumn& column : cost_columns()) {
    if (const auto value = column.value(cost)) out[std::string(column.key)] = *value;
  }
}

Json cost_json(const Share95& cost) {
  Json out;
  add_cost(out, cost);
  return out;
}

Json source_json(const profile::Source& source) {
  return {{"name", source.name},
          {"unit", term(source.unit).key},
          {"period", source.period},
          {"precise", source.precise}};
}

Json damage_json(const Profile& profile) {
  return damage_json(profile.read_report(), damage_text(profile));
}

Json damage_json(const store::ReadReport& read, const std::string& text) {
  return {{"finished", read.finished},
          {"damaged_spots", read.damaged_spots},
          {"missing_blocks", read.missing_blocks},
          {"malformed_blocks", read.malformed_blocks},
          {"missing_samples", read.missing_samples},
          {"tail_bytes", read.tail_bytes},
          {"first_problem", read.first_problem},
          {"text", text}};
}

namespace {

// What a profile::Pause and a RateSpan have in common.
template <typename Span>
Json span_json(const profile::RecordingInfo& info, const Span& span) {
  const bool over = span.to != kTimeMax;
  return {{"pid", span.process.pid},
          {"process_start", span.process.start},
          {"from_ns", span.from},
          {"from", rfc3339(info.wall_of(span.from))},
          {"to_ns", over ? Json(span.to) : Json()},
          {"to", over ? Json(rfc3339(info.wall_of(span.to))) : Json()}};
}

}  // namespace

Json recording_json(const Profile& profile) {
  const profile::RecordingInfo& info = profile.recording();
  Json pauses = Json::array();
  for (const profile::Pause& pause : info.pauses) pauses.push_back(span_json(info, pause));
  Json rates = Json::array();
  for (const profile::RateSpan& rate : info.rates) {
    Json each = span_json(info, rate);
    each["frequency"] = rate.frequency;
    each["why"] = rate.why;
    rates.push_back(std::move(each));
  }
  return {{"host", info.host},
          {"kernel", info.kernel},
          {"command", info.command},
          {"daemon_version", info.daemon_version},
          {"wall_clock_ns", info.wall_clock_ns},
          {"capture", info.sampling_notes},
          {"clock_source", info.clock_source},
          {"clock_error_ns", info.clock_error_ns},
          {"cpus", info.cpus},
          {"steal_ns", info.steal_ns},
          {"own_cpu_ns", info.own_cpu_ns},
          {"cpu_used_ns", info.cpu_used_ns},
          {"cpu_sampled_ns", info.cpu_sampled_ns},
          {"kernel_sampled", !info.kernel_not_sampled},
          {"kernel_unsampled_ns", info.kernel_unsampled_ns},
          {"aggregated_ns", info.aggregated_ns},
          {"executions_drawn_share", 1 / profile::scale_of(info.drawn_ppm)},
          {"pauses", pauses},
          {"rates", rates}};
}

std::string dump(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace tailor::query
