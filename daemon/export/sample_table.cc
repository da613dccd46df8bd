#include "daemon/export/sample_table.h"

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "daemon/profile/accounting.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/named_functions.h"
#include "daemon/query/sums/owners.h"
#include "daemon/query/sums/terms.h"
#include "daemon/query/time/waits.h"
#include "proto/base/file_id.h"
#include "proto/base/utf8.h"

namespace tailor::exporter {
namespace {

using formats::ParquetField;
using formats::ParquetWriter;
using query::CellKey;
using Type = formats::ParquetType;

constexpr const char* kLevelOfFunctions = "function";  // of plans that were made of a runtime's files

std::vector<ParquetField> sample_fields() {
  return {{"time_ns", Type::kInt64},
          {"time_wall", Type::kWallTime, true},
          {"process", Type::kText},
          {"pid", Type::kInt32},
          {"tid", Type::kInt32},
          {"cpu", Type::kUint32, true},
          {"source", Type::kInt32},
          {"event", Type::kText},
          {"unit", Type::kText},
          {"weight", Type::kUint64},
          {"kernel", Type::kBoolean},
          {"execution", Type::kText, true},
          {"fingerprint", Type::kText, true},
          {"plan", Type::kText, true},
          {"pipeline", Type::kUint32, true},
          {"owners", Type::kInt32, true},
          {"operator", Type::kText, true},
          {"operator_id", Type::kUint32, true},
          {"lowest_level", Type::kText, true},
          {"lowest_component", Type::kUint32, true},
          {"component", Type::kText, true},
          {"unattributed", Type::kText, true},
          {"how", Type::kText},
          {"quality", Type::kText},
          {"wait", Type::kText, true},
          {"wait_event", Type::kText, true},
          {"stack", Type::kUint32, true},
          {"function", Type::kText, true},
          {"object", Type::kText, true},
          {"code_address", Type::kUint64, true},
          {"address", Type::kUint64, true},
          {"address_from", Type::kText, true},
          {"skid", Type::kInt32, true},
          {"region", Type::kText, true},
          {"memory_level", Type::kText, true},
          {"latency_cycles", Type::kUint32, true}};
}

// What all samples of a cell have in common, as the table has it.
struct CellRow {
  std::string process, event, execution, fingerprint, plan, op, lowest_level, component, unattributed;
  std::string wait_event, region;
  std::uint32_t pipeline = 0, operator_id = 0, lowest = 0;
  std::int32_t owners = -1;
  query::Term unit, how, quality;
};

// The number of the only owner, 0: several, or none.
ComponentId only_one(const query::Owners& owners) {
  return owners.size() == 1 ? owners.front().id : kNoComponent;
}

// Beyond the first owners there is the table of owners.
std::string joined_names(const query::PlanModel& plan, LevelIndex level, const query::Owners& owners) {
  constexpr std::size_t kMost = 16;
  std::string out;
  std::size_t named = 0;
  for (const query::Share& owner : owners) {
    if (owner.id == kNoComponent) continue;
    if (++named > kMost) return out + " + ...";
    out += (out.empty() ? "" : " + ") + plan.component_name(level, owner.id);
  }
  return out;
}

// As reports have it: that of the tasks where they are parts of one only, else that of the thread's log.
std::uint32_t pipeline_of(const query::Cost& cost) {
  const LevelIndex level = query::task_level(*cost.plan);
  if (level >= cost.lineage->size()) return cost.key.pipeline;
  std::uint32_t found = 0;
  for (const query::Share& task : (*cost.lineage)[level]) {
    const std::uint32_t own = task.id == kNoComponent ? 0 : cost.plan->pipeline_of(level, task.id);
    if (own == 0 || (found != 0 && own != found)) return cost.key.pipeline;
    found = own;
  }
  return found != 0 ? found : cost.key.pipeline;
}

class SampleTables {
 public:
  SampleTables(const query::Profile& profile, const ParquetOptions& options, const OpenTable& open)
      : profile_(profile),
        options_(options),
        names_(profile),
        samples_(open, "samples", options.producer, sample_fields()),
        owners_(open, "owners", options.producer,
                {{"owners", Type::kInt32},
                 {"plan", Type::kText},
                 {"level_index", Type::kInt32},
                 {"level", Type::kText},
                 {"component", Type::kUint32, true},
                 {"name", Type::kText, true},
                 {"part", Type::kDouble}}),
        stacks_(open, "stacks", options.producer,
                {{"stack", Type::kUint32},
                 {"caller", Type::kUint32, true},
                 {"function", Type::kText, true},
                 {"object", Type::kText, true},
                 {"code_address", Type::kUint64, true},
                 {"kind", Type::kText},
                 {"path", Type::kText, true},
                 {"build_id", Type::kText, true}}) {}

  Result<std::uint64_t> run(const query::Selection& selection);

 private:
  CellRow row_of(const query::Cost& cost);
  void add_owners_of(const query::Cost& cost, CellRow& row);
  std::int32_t owners_number(const query::Cost& cost, const std::string& plan);
  void add(const query::TimedSample& sample, const CellRow& row);
  void add_code(const query::TimedSample& sample);
  void add_memory(const query::TimedSample& sample, const CellRow& row);
  void add_stacks();
  void add_function(ParquetWriter& to, std::uint32_t place) const;

  const query::Profile& profile_;
  const ParquetOptions& options_;
  query::NamedFunctions names_;
  ParquetTable samples_, owners_, stacks_;
  std::unordered_map<const CellKey*, CellRow> rows_;
  std::unordered_map<std::string, std::int32_t> numbers_;  // of owners, by what their rows say
};

Result<std::uint64_t> SampleTables::run(const query::Selection& selection) {
  for (const auto& [source, total] : query::totals_by_source(profile_, selection)) {
    if (selection.source && *selection.source != source) continue;
    query::for_each_cost(profile_, selection, source,
                         [this](const query::Cost& cost) { rows_.emplace(&cost.own_key, row_of(cost)); });
  }
  std::vector<const query::TimedSample*> chosen;
  for (const query::TimedSample& sample : profile_.samples()) {
    if (rows_.contains(sample.key) && (!options_.keep || options_.keep(sample))) chosen.push_back(&sample);
  }
  if (chosen.empty()) return not_found("there are no samples to export");
  std::ranges::stable_sort(chosen, {}, [](const query::TimedSample* each) { return each->time; });
  for (const query::TimedSample* sample : chosen) {
    add(*sample, rows_.at(sample->key));
    if (samples_.failed()) break;
  }
  if (Status done = samples_.finish(); !done) return done.error();
  if (Status done = owners_.finish(); !done) return done.error();
  add_stacks();
  if (Status done = stacks_.finish(); !done) return done.error();
  return chosen.size();
}

CellRow SampleTables::row_of(const query::Cost& cost) {
  const CellKey& key = cost.key;
  CellRow row;
  row.process = query::process_key(cost.own_key.process);
  const profile::Source source = profile_.source(key.source);
  row.event = source.name;
  row.unit = query::term(source.unit);
  row.how = query::term(key.how);
  row.quality = query::term(key.quality);
  row.pipeline = key.pipeline;
  if (const profile::ExecutionRecord* execution = profile_.execution(key.process, key.execution)) {
    row.execution = query::hex(execution->id);
    if (options_.fingerprint) row.fingerprint = options_.fingerprint(key.process, key.execution);
  }
  const auto plan = key.plan == 0 ? profile_.executions().plan_of(key.process, key.execution) : key.plan;
  if (plan && profile_.plan(key.process, *plan) != nullptr) row.plan = query::plan_key(key.process, *plan);
  if (cost.what == query::Cost::Class::kPlan) add_owners_of(cost, row);
  if (cost.what == query::Cost::Class::kComponent)
    row.component = profile_.engine_component_name(key.process, key.engine_component);
  if (cost.what == query::Cost::Class::kUnattributed) row.unattributed = cost.reason.key;
  row.wait_event = profile_.wait_event(key.engine_wait);
  if (key.region != 0) row.region = profile_.region_name(cost.own_key.process, key.region);
  return row;
}

void SampleTables::add_owners_of(const query::Cost& cost, CellRow& row) {
  const query::Owners& top = cost.lineage->front();
  row.pipeline = pipeline_of(cost);
  row.owners = owners_number(cost, row.plan);
  if (cost.plan->level_name(0) != kLevelOfFunctions) {
    row.op = joined_names(*cost.plan, 0, top);
    row.operator_id = only_one(top);
  }
  const auto lowest = static_cast<LevelIndex>(cost.lineage->size() - 1);
  row.lowest_level = cost.plan->level_name(lowest);
  row.lowest = only_one(cost.lineage->back());
  // The part that no operator owns.
  if (std::ranges::find(top, kNoComponent, &query::Share::id) != top.end())
    row.unattributed = cost.reason.key;
}

std::int32_t SampleTables::owners_number(const query::Cost& cost, const std::string& plan) {
  std::string said = plan;
  for (const query::Owners& level : *cost.lineage) {
    said += '|';
    for (const query::Share& owner : level) {
      said.append(reinterpret_cast<const char*>(&owner.id), sizeof owner.id);
      said.append(reinterpret_cast<const char*>(&owner.part), sizeof owner.part);
    }
  }
  const auto [at, fresh] = numbers_.try_emplace(std::move(said), static_cast<std::int32_t>(numbers_.size()));
  if (!fresh) return at->second;
  for (LevelIndex level = 0; level < cost.lineage->size(); ++level) {
    for (const query::Share& owner : (*cost.lineage)[level]) {
      const bool known = owner.id != kNoComponent;
      owners_.row().number(at->second).text(plan).number(level).text(cost.plan->level_name(level));
      owners_.row().number_if(known, owner.id);
      owners_.row().text_if(known ? cost.plan->component_name(level, owner.id) : "").real(owner.part);
      owners_.end_row();
    }
  }
  return at->second;
}

void SampleTables::add(const query::TimedSample& sample, const CellRow& row) {
  const CellKey& key = *sample.key;
  const std::uint64_t wall = profile_.recording().wall_of(sample.time);
  samples_.row().number(sample.time).number_if(wall != 0, wall / 1000);
  samples_.row().text(row.process).number(key.process.pid).number(sample.tid);
  samples_.row().number_if(sample.cpu != profile::kEveryCpu, sample.cpu);
  samples_.row().number(key.source).text(row.event).text(row.unit.key).number(sample.weight);
  samples_.row().number(key.kernel).text_if(row.execution).text_if(row.fingerprint).text_if(row.plan);
  samples_.row().number_if(row.pipeline != 0, row.pipeline).number_if(row.owners >= 0, row.owners);
  samples_.row().text_if(row.op).number_if(row.operator_id != 0, row.operator_id);
  samples_.row().text_if(row.lowest_level).number_if(row.lowest != 0, row.lowest);
  samples_.row().text_if(row.component).text_if(row.unattributed);
  samples_.row().text(row.how.key).text(row.quality.key);
  samples_.row().text_if(key.wait == profile::Wait::kNone ? "" : query::wait_key(key.wait));
  samples_.row().text_if(row.wait_event);
  add_code(sample);
  add_memory(sample, row);
  samples_.end_row();
}

void SampleTables::add_code(const query::TimedSample& sample) {
  samples_.row().number_if(sample.node != 0, sample.node);
  if (sample.node == 0) {
    samples_.row().null().null().null();
  } else {
    add_function(samples_.row(), profile_.functions().nodes[sample.node].place);
  }
}

void SampleTables::add_function(ParquetWriter& to, std::uint32_t place) const {
  const query::Function& function = names_.at(names_.of_place(place));
  const query::CodePlace& code = profile_.functions().places[place];
  to.text_if(function.name).text_if(function.object).number_if(code.address != 0, code.address);
}

void SampleTables::add_memory(const query::TimedSample& sample, const CellRow& row) {
  const CellKey& key = *sample.key;
  const bool has_address = key.address_from != profile::AddressFrom::kNone;
  const bool computed = key.address_from == profile::AddressFrom::kOperand;
  samples_.row().number_if(has_address, sample.address);
  samples_.row().text_if(!has_address ? "" : computed ? "operand" : "sample");
  samples_.row().number_if(computed, key.skid).text_if(row.region);
  samples_.row().text_if(key.served_by == query::MemoryLevel::kUnknown ? "" : query::term(key.served_by).key);
  samples_.row().number_if(sample.latency != 0, sample.latency);
}

void SampleTables::add_stacks() {
  const query::FunctionSums& sums = profile_.functions();
  for (std::uint32_t node = 1; node < sums.nodes.size() && !stacks_.failed(); ++node) {
    const query::CodePlace& place = sums.places[sums.nodes[node].place];
    const bool in_file = place.kind == query::CodePlace::Kind::kFile;
    const std::uint32_t caller = sums.nodes[node].caller;
    stacks_.row().number(node).number_if(caller != 0, caller);
    add_function(stacks_.row(), sums.nodes[node].place);
    stacks_.row().text(query::function_kind_key(names_.at(names_.of_place(sums.nodes[node].place)).kind));
    stacks_.row().text_if(in_file ? replace_non_utf8(sums.files[place.file].path) : std::string());
    stacks_.row().text_if(in_file ? only_build_id(sums.files[place.file].build_id) : "");
    stacks_.end_row();
  }
}

}  // namespace

Result<std::uint64_t> write_samples(const query::Profile& profile, const query::Selection& selection,
                                    const ParquetOptions& options, const OpenTable& open) {
  const auto totals = query::totals_by_source(profile, selection);
  // Before any file is replaced.
  if (totals.empty() || (selection.source && !totals.contains(*selection.source)))
    return not_found("there are no samples to export");
  return SampleTables(profile, options, open).run(selection);
}

}  // namespace tailor::exporter
