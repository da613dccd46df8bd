#include "daemon/export/dictionary_tables.h"

#include <map>
#include <set>

#include "daemon/query/load/accounting.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/terms.h"

namespace tailor::exporter {
namespace {

using formats::ParquetField;
using Type = formats::ParquetType;

class DictionaryTables {
 public:
  DictionaryTables(const query::Profile& profile, const ParquetOptions& options, const OpenTable& open)
      : profile_(profile), options_(options), open_(open) {}

  Status all(std::uint64_t samples) {
    if (Status done = recording(samples); !done) return done;
    if (Status done = sources(); !done) return done;
    if (Status done = processes(); !done) return done;
    if (Status done = threads(); !done) return done;
    if (Status done = executions(); !done) return done;
    if (Status done = labels(); !done) return done;
    if (Status done = plans(); !done) return done;
    return components();
  }

 private:
  ParquetTable table(const std::string& name, std::vector<ParquetField> fields) const {
    return {open_, name, options_.producer, std::move(fields)};
  }

  Status recording(std::uint64_t samples);
  Status sources();
  Status processes();
  Status threads();
  Status executions();
  Status labels();
  Status plans();
  Status components();
  void add_components(ParquetTable& to, ProcessId process, PlanId id, const query::PlanModel& plan,
                      LevelIndex level);

  // 0 where it is not known.
  std::uint64_t wall_us(TimeNs time) const { return profile_.recording().wall_of(time) / 1000; }
  // Of each plan that an execution or a cell names.
  std::set<query::InProcess<PlanId>> known_plans() const;

  const query::Profile& profile_;
  const ParquetOptions& options_;
  const OpenTable& open_;
};

Status DictionaryTables::recording(std::uint64_t samples) {
  ParquetTable out = table("recording", {{"host", Type::kText},
                                         {"kernel", Type::kText},
                                         {"cpu", Type::kText},
                                         {"command", Type::kText},
                                         {"recorder", Type::kText},
                                         {"capture", Type::kText},
                                         {"clock", Type::kText},
                                         {"clock_error_ns", Type::kUint64},
                                         {"start_ns", Type::kInt64},
                                         {"end_ns", Type::kInt64},
                                         {"start_wall", Type::kWallTime, true},
                                         {"samples", Type::kUint64},
                                         {"received", Type::kUint64},
                                         {"attributed", Type::kUint64},
                                         {"unattributed", Type::kUint64},
                                         {"filtered", Type::kUint64},
                                         {"late", Type::kUint64},
                                         {"lost_ring", Type::kUint64},
                                         {"lost_hardware", Type::kUint64},
                                         {"unwritten", Type::kUint64},
                                         {"undecoded", Type::kUint64},
                                         {"gap_ns", Type::kUint64},
                                         {"lost_share", Type::kDouble}});
  const profile::RecordingInfo& info = profile_.recording();
  const query::Accounting account = query::account_of(profile_);
  const profile::Accounting& total = account.total;
  const std::uint64_t wall = wall_us(info.start);
  out.row().text(info.host).text(info.kernel).text(info.cpu).text(info.command).text(info.daemon_version);
  out.row().text(info.sampling_notes).text(info.clock_source).number(info.clock_error_ns);
  out.row().number(info.start).number(std::max(info.start, profile_.last_time())).number_if(wall != 0, wall);
  out.row().number(samples).number(total.received).number(total.attributed).number(total.unattributed);
  out.row().number(total.filtered).number(total.late).number(total.lost_ring).number(total.lost_hardware);
  out.row().number(account.unwritten_samples).number(total.undecoded).number(total.gap_ns);
  out.row().real(account.lost_share());
  out.end_row();
  return out.finish();
}

Status DictionaryTables::sources() {
  ParquetTable out = table("sources", {{"source", Type::kInt32},
                                       {"event", Type::kText},
                                       {"unit", Type::kText},
                                       {"period", Type::kUint64},
                                       {"precise", Type::kBoolean}});
  std::set<std::uint16_t> known;
  for (const profile::Source& each : profile_.recording().sources) known.insert(each.index);
  for (const auto& [key, cell] : profile_.cells()) known.insert(key.source);
  for (const std::uint16_t index : known) {
    const profile::Source source = profile_.source(index);
    out.row().number(index).text(source.name).text(query::term(source.unit).key);
    out.row().number(source.period).number(source.precise);
    out.end_row();
  }
  return out.finish();
}

Status DictionaryTables::processes() {
  ParquetTable out = table("processes", {{"process", Type::kText},
                                         {"pid", Type::kInt32},
                                         {"name", Type::kText},
                                         {"engine", Type::kText, true},
                                         {"engine_version", Type::kText, true},
                                         {"cgroup", Type::kText, true}});
  for (const auto& [id, process] : profile_.processes()) {
    out.row().text(query::process_key(id)).number(id.pid).text(process.comm);
    out.row().text_if(process.engine_name).text_if(process.engine_version).text_if(process.cgroup);
    out.end_row();
  }
  return out.finish();
}

Status DictionaryTables::threads() {
  ParquetTable out =
      table("threads", {{"process", Type::kText}, {"tid", Type::kInt32}, {"name", Type::kText, true}});
  std::set<query::InProcess<std::int32_t>> known;
  for (const query::TimedSample& sample : profile_.samples()) known.insert({sample.key->process, sample.tid});
  for (const auto& [process, tid] : known) {
    out.row().text(query::process_key(process)).number(tid).text_if(profile_.thread_name(process, tid));
    out.end_row();
  }
  return out.finish();
}

Status DictionaryTables::executions() {
  ParquetTable out = table("executions", {{"execution", Type::kText},
                                          {"process", Type::kText},
                                          {"plan", Type::kText, true},
                                          {"leader", Type::kText, true},
                                          {"fingerprint", Type::kText, true},
                                          {"begin_ns", Type::kInt64},
                                          {"end_ns", Type::kInt64, true},
                                          {"begin_wall", Type::kWallTime, true},
                                          {"rows", Type::kUint64, true},
                                          {"error", Type::kText, true}});
  for (const profile::ExecutionRecord& each : profile_.executions()) {
    const auto [process, handle] = profile_.led_by(each.process, each.handle);
    const profile::ExecutionRecord* leader =
        handle == each.handle && process == each.process ? nullptr : profile_.execution(process, handle);
    const std::uint64_t wall = each.wall_begin_ns != 0 ? each.wall_begin_ns / 1000 : wall_us(each.begin);
    out.row().text(query::hex(each.id)).text(query::process_key(each.process));
    out.row().text_if(each.plan == 0 ? "" : query::plan_key(each.process, each.plan));
    out.row().text_if(leader == nullptr ? "" : query::hex(leader->id));
    out.row().text_if(options_.fingerprint ? options_.fingerprint(process, handle) : "");
    out.row().number(each.begin).number_if(each.end != kTimeMax, each.end).number_if(wall != 0, wall);
    out.row().number_if(each.rows_known && each.end != kTimeMax, each.rows).text_if(each.error);
    out.end_row();
  }
  return out.finish();
}

Status DictionaryTables::labels() {
  ParquetTable out =
      table("labels", {{"execution", Type::kText}, {"key", Type::kText}, {"value", Type::kText}});
  for (const profile::ExecutionRecord& each : profile_.executions()) {
    for (const auto& [key, value] : each.labels) {
      out.row().text(query::hex(each.id)).text(key).text(value);
      out.end_row();
    }
  }
  return out.finish();
}

std::set<query::InProcess<PlanId>> DictionaryTables::known_plans() const {
  std::set<query::InProcess<PlanId>> known;
  for (const auto& [own, cell] : profile_.cells()) {
    const query::CellKey key = profile_.for_leader(own);
    if (key.plan != 0) known.insert({key.process, key.plan});
  }
  for (const profile::ExecutionRecord& each : profile_.executions()) {
    if (each.plan != 0) known.insert({each.process, each.plan});
  }
  std::erase_if(known,
                [this](const auto& each) { return profile_.plan(each.first, each.second) == nullptr; });
  return known;
}

Status DictionaryTables::plans() {
  ParquetTable out = table("plans", {{"plan", Type::kText},
                                     {"process", Type::kText},
                                     {"name", Type::kText},
                                     {"levels", Type::kText},
                                     {"query", Type::kText, true},
                                     {"ir", Type::kText, true}});
  for (const auto& [process, id] : known_plans()) {
    const query::PlanModel& plan = *profile_.plan(process, id);
    std::string levels;
    for (LevelIndex level = 0; level < plan.level_count(); ++level)
      levels += (level == 0 ? "" : " > ") + plan.level_name(level);
    const std::string* query = profile_.attachment(process, id, "sql");
    const std::string* ir = profile_.attachment(process, id, "ir");
    out.row().text(query::plan_key(process, id)).text(query::process_key(process)).text(plan.name());
    out.row().text(levels).text_if(query == nullptr ? "" : *query).text_if(ir == nullptr ? "" : *ir);
    out.end_row();
  }
  return out.finish();
}

Status DictionaryTables::components() {
  ParquetTable out = table("components", {{"plan", Type::kText},
                                          {"level_index", Type::kInt32},
                                          {"level", Type::kText},
                                          {"component", Type::kUint32},
                                          {"name", Type::kText},
                                          {"kind", Type::kText, true},
                                          {"detail", Type::kText, true},
                                          {"consumer", Type::kUint32, true},
                                          {"pipeline", Type::kUint32, true},
                                          {"estimated_rows", Type::kDouble, true}});
  for (const auto& [process, id] : known_plans()) {
    const query::PlanModel& plan = *profile_.plan(process, id);
    for (LevelIndex level = 0; level < plan.level_count(); ++level)
      add_components(out, process, id, plan, level);
  }
  return out.finish();
}

void DictionaryTables::add_components(ParquetTable& to, ProcessId process, PlanId id,
                                      const query::PlanModel& plan, LevelIndex level) {
  const v1::Level& of = plan.plan().levels(static_cast<int>(level));
  std::map<ComponentId, ComponentId> consumers;
  if (level == 0) {
    for (const v1::Component& each : of.components()) {
      for (const ComponentId input : each.inputs()) consumers.emplace(input, each.id());
    }
  }
  for (const v1::Component& each : of.components()) {
    if (plan.component(level, each.id()) != &each) continue;  // no such number, or said twice
    const auto consumer = consumers.find(each.id());
    const std::uint32_t pipeline = plan.pipeline_of(level, each.id());
    to.row().text(query::plan_key(process, id)).number(level).text(of.name()).number(each.id());
    to.row().text(plan.component_name(level, each.id())).text_if(each.kind());
    to.row().text_if(plan.component_detail(level, each.id()));
    to.row().number_if(consumer != consumers.end(), consumer == consumers.end() ? 0 : consumer->second);
    to.row().number_if(pipeline != 0, pipeline);
    const v1::Attribute* rows = nullptr;
    for (const v1::Attribute& attribute : each.attributes()) {
      if (attribute.key() == "estimated_rows" && attribute.value_case() == v1::Attribute::kNumber)
        rows = &attribute;
    }
    if (rows == nullptr) {
      to.row().null();
    } else {
      to.row().real(rows->number());
    }
    to.end_row();
  }
}

}  // namespace

Status write_dictionaries(const query::Profile& profile, std::uint64_t samples, const ParquetOptions& options,
                          const OpenTable& open) {
  return DictionaryTables(profile, options, open).all(samples);
}

}  // namespace tailor::exporter
