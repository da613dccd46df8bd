#include "daemon/export/make_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

#include "daemon/query/json/report_json.h"
#include "daemon/query/reports/no_such.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/named_functions.h"
#include "proto/base/file_id.h"

namespace tailor::exporter {
namespace {

using formats::Trace;
using formats::TraceFrame;
using formats::TraceLabels;

constexpr const char* kFunctionLevel = "function";  // of plans that were made of a runtime's files
constexpr std::size_t kMostFrames = 512;            // of a call chain

// What a cell gives to the stacks of its samples.
struct Owner {
  std::string plan;
  std::uint32_t pipeline = 0;
  std::vector<std::pair<std::string, std::string>> levels;  // level and its owners, top first; the lowest too
  std::string engine, nobody;
  std::uint32_t labels = 0;
};

std::string names_of(const query::PlanModel& plan, LevelIndex level, const query::Owners& owners) {
  std::string out;
  for (const query::Share& owner : owners) {
    if (owner.id == kNoComponent) continue;
    if (!out.empty()) out += " + ";
    out += plan.component_name(level, owner.id);
  }
  return out;
}

class Making {
 public:
  Making(const query::Profile& profile, const TraceOptions& options)
      : profile_(profile), options_(options), names_(profile) {}

  Result<Trace> run(const query::Selection& selection) {
    if (Status known = check_levels(); !known) return known.error();
    describe();
    for (const auto& [source, total] : query::totals_by_source(profile_, selection)) {
      if (selection.source && *selection.source != source) continue;
      add_source(source);
      query::for_each_cost(profile_, selection, source, [this](const query::Cost& cost) {
        owners_.emplace(&cost.own_key, owner_of(cost));
      });
    }
    std::vector<const query::TimedSample*> chosen;
    for (const query::TimedSample& sample : profile_.samples()) {
      if (owners_.contains(sample.key) && (!options_.keep || options_.keep(sample)))
        chosen.push_back(&sample);
    }
    const bool nothing_was_sampled = options_.may_be_empty && profile_.samples().empty();
    if (chosen.empty() && !nothing_was_sampled) return not_found("there are no samples to export");
    std::ranges::stable_sort(chosen, {}, [](const query::TimedSample* each) { return each->time; });
    out_.samples.reserve(chosen.size());
    for (const query::TimedSample* sample : chosen) add(*sample);
    add_executions(selection);
    name_program(chosen);
    return std::move(out_);
  }

 private:
  // Levels of plans that have names; others would silently leave a frame out.
  Status check_levels() const {
    std::set<std::string> known = {"process", "plan", "pipeline", "levels", "function"};
    for (const auto& [key, cell] : profile_.cells()) {
      const query::PlanModel* plan = key.plan == 0 ? nullptr : profile_.plan(key.process, key.plan);
      for (LevelIndex level = 0; plan != nullptr && level < plan->level_count(); ++level)
        known.insert(plan->level_name(level));
    }
    for (const std::string& level : options_.levels) {
      if (!known.contains(level)) return query::no_such("level", level, known);
    }
    return Ok{};
  }

  void describe() {
    const profile::RecordingInfo& info = profile_.recording();
    out_.producer = options_.producer;
    out_.host = info.host;
    out_.command = info.command;
    out_.wall_ns = info.wall_clock_ns;
    out_.start = info.start;
    out_.end = std::max(info.start, profile_.last_time());
    out_.label_keys = {"execution", "plan", "pipeline"};
  }

  // Of the process with most samples: counts of all sources, because weights of several cannot be compared.
  // The kernel cuts the name of a process, and a program may have a version in its name ("python3.11").
  void name_program(const std::vector<const query::TimedSample*>& chosen) {
    std::map<ProcessId, std::size_t> counts;
    for (const query::TimedSample* sample : chosen) ++counts[sample->key->process];
    const auto most = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
    const auto record =
        most == counts.end() ? profile_.processes().end() : profile_.processes().find(most->first);
    if (record == profile_.processes().end() || record->second.comm.empty()) return;
    const std::string& comm = record->second.comm;
    out_.program = comm;
    std::size_t shortest = std::string::npos;
    for (const formats::TraceFrame& frame : out_.frames) {
      if (!frame.object.starts_with(comm) || frame.object.size() >= shortest) continue;
      shortest = frame.object.size();
      out_.program = frame.object;
    }
  }

  void add_source(std::uint16_t index) {
    const profile::Source source = profile_.source(index);
    sources_.emplace(index, static_cast<std::uint16_t>(out_.sources.size()));
    const bool events = source.unit == profile::Unit::kEvents;
    out_.sources.push_back({source.name, events ? "count" : "nanoseconds", source.period,
                            source.unit == profile::Unit::kNsOffCpu});
  }

  Owner owner_of(const query::Cost& cost) {
    Owner out;
    const query::CellKey& key = cost.key;
    out.pipeline = key.pipeline;
    const auto worked_for =
        key.plan == 0 ? profile_.executions().plan_of(key.process, key.execution) : key.plan;
    const query::PlanModel* plan = worked_for ? profile_.plan(key.process, *worked_for) : nullptr;
    const bool of_functions =
        plan != nullptr && plan->level_count() > 0 && plan->level_name(0) == kFunctionLevel;
    if (plan != nullptr && !of_functions)
      out.plan = plan->name().empty() ? fmt::format("plan {}", *worked_for) : plan->name();
    if (cost.what == query::Cost::Class::kComponent)
      out.engine = profile_.engine_component_name(key.process, key.engine_component);
    const bool owned = cost.what == query::Cost::Class::kPlan;
    if (owned && !of_functions) {
      for (LevelIndex level = 0; level < cost.lineage->size(); ++level) {
        const std::string names = names_of(*cost.plan, level, (*cost.lineage)[level]);
        if (!names.empty()) out.levels.emplace_back(cost.plan->level_name(level), names);
      }
    }
    const bool nobodys =
        cost.what == query::Cost::Class::kUnattributed || (owned && !of_functions && out.levels.empty());
    if (nobodys) out.nobody = fmt::format("[{}]", cost.reason.text);
    out.labels = labels_of(key, out);
    return out;
  }

  std::uint32_t labels_of(const query::CellKey& key, const Owner& owner) {
    TraceLabels labels;
    if (const profile::ExecutionRecord* execution = profile_.execution(key.process, key.execution))
      labels.emplace_back("execution", query::hex(execution->id));
    if (!owner.plan.empty()) labels.emplace_back("plan", owner.plan);
    if (owner.pipeline != 0) labels.emplace_back("pipeline", std::to_string(owner.pipeline));
    for (const auto& [level, names] : owner.levels) add_label(labels, level, names);
    if (!owner.engine.empty()) add_label(labels, "component", owner.engine);
    if (!owner.nobody.empty()) add_label(labels, "unattributed", owner.nobody);
    const auto [at, fresh] =
        labels_.try_emplace({std::move(labels), run_of(key)}, static_cast<std::uint32_t>(out_.labels.size()));
    if (fresh) {
      out_.labels.push_back(at->first.first);
      out_.runs.push_back(at->first.second);
      out_.owners.push_back(!owner.levels.empty()   ? owner.levels.front().second
                            : !owner.engine.empty() ? owner.engine
                            : !owner.nobody.empty() ? owner.nobody
                                                    : "[no plan]");
    }
    return at->second;
  }
  formats::TraceRun run_of(const query::CellKey& key) const {
    formats::TraceRun out;
    const profile::ExecutionRecord* execution = profile_.execution(key.process, key.execution);
    if (execution == nullptr) return out;
    if (options_.fingerprint) out.fingerprint = options_.fingerprint(key.process, key.execution);
    for (const auto& [name, value] : execution->labels) {
      if (name == "trace_id") out.trace_id = value;
      if (name == "span_id") out.span_id = value;
    }
    return out;
  }
  void add_label(TraceLabels& to, const std::string& key, const std::string& text) {
    to.emplace_back(key, text);
    if (std::ranges::find(out_.label_keys, key) == out_.label_keys.end()) out_.label_keys.push_back(key);
  }

  void add(const query::TimedSample& sample) {
    const query::CellKey& key = *sample.key;
    const Owner& owner = owners_.at(&key);
    const auto [at, fresh] = stacks_.try_emplace({&key, sample.node}, 0);
    if (fresh) at->second = stack_of(key, owner, sample.node);
    out_.samples.push_back({sample.time, sample.weight, thread_of(key.process, sample.tid), at->second,
                            owner.labels, sources_.at(key.source)});
  }

  std::uint32_t stack_of(const query::CellKey& key, const Owner& owner, std::uint32_t node) {
    std::uint32_t at = 0;
    for (const std::string& level : options_.levels) {
      if (level == "process") at = child(at, {TraceFrame::Kind::kProcess, process_name(key.process), ""});
      if (level == "plan" && !owner.plan.empty()) at = child(at, {TraceFrame::Kind::kPlan, owner.plan, ""});
      if (level == "pipeline" && owner.pipeline != 0)
        at = child(at, {TraceFrame::Kind::kPlan, fmt::format("pipeline {}", owner.pipeline), ""});
      if (level == "levels") at = with_owners(at, key, owner);
      if (level == "function") at = with_functions(at, node);
      for (const auto& [name, names] : owner.levels) {
        if (level == name) at = child(at, {TraceFrame::Kind::kOperator, names, ""});
      }
    }
    return at;
  }

  std::uint32_t with_owners(std::uint32_t at, const query::CellKey& key, const Owner& owner) {
    const query::PlanModel* plan = profile_.plan(key.process, key.plan);
    const std::string lowest =
        plan == nullptr || plan->level_count() < 2 ? "" : plan->level_name(plan->level_count() - 1);
    for (const auto& [name, names] : owner.levels) {
      if (name != lowest) at = child(at, {TraceFrame::Kind::kOperator, names, ""});
    }
    if (!owner.engine.empty()) at = child(at, {TraceFrame::Kind::kEngine, owner.engine, ""});
    if (!owner.nobody.empty()) at = child(at, {TraceFrame::Kind::kNobody, owner.nobody, ""});
    return at;
  }

  std::uint32_t with_functions(std::uint32_t at, std::uint32_t node) {
    const query::FunctionSums& sums = profile_.functions();
    std::vector<std::uint32_t> chain;
    for (; node != 0 && chain.size() < kMostFrames; node = sums.nodes[node].caller)
      chain.push_back(sums.nodes[node].place);
    for (auto place = chain.rbegin(); place != chain.rend(); ++place) at = child(at, frame_of(*place));
    return at;
  }

  TraceFrame frame_of(std::uint32_t place) const {
    const query::Function& named = names_.at(names_.of_place(place));
    const auto kind = named.kind == query::Function::Kind::kKernel      ? TraceFrame::Kind::kKernel
                      : named.kind == query::Function::Kind::kGenerated ? TraceFrame::Kind::kGenerated
                                                                        : TraceFrame::Kind::kFunction;
    return {kind, query::shown_name(named), named.object,
            options_.build_ids ? build_id_of(profile_.functions().places[place]) : ""};
  }

  std::string build_id_of(const query::CodePlace& place) const {
    if (place.kind == query::CodePlace::Kind::kKernel) return profile_.recording().kernel_build_id;
    if (place.kind != query::CodePlace::Kind::kFile) return "";
    return only_build_id(profile_.functions().files[place.file].build_id);
  }

  std::uint32_t child(std::uint32_t parent, const TraceFrame& frame) {
    const auto [at, fresh] = frames_.try_emplace(frame, static_cast<std::uint32_t>(out_.frames.size()));
    if (fresh) out_.frames.push_back(frame);
    const std::uint64_t key = std::uint64_t{parent} << 32 | at->second;
    const auto [node, new_node] = nodes_.try_emplace(key, static_cast<std::uint32_t>(out_.nodes.size()));
    if (new_node) out_.nodes.push_back({parent, at->second});
    return node->second;
  }

  std::string process_name(ProcessId id) const {
    const auto known = profile_.processes().find(id);
    if (known == profile_.processes().end()) return fmt::format("process {}", id.pid);
    const profile::ProcessRecord& process = known->second;
    return fmt::format("{} ({})", process.engine_name.empty() ? process.comm : process.engine_name, id.pid);
  }

  std::uint32_t thread_of(ProcessId process, std::int32_t tid) {
    const auto [at, fresh] =
        threads_.try_emplace({process, tid}, static_cast<std::uint32_t>(out_.threads.size()));
    if (fresh) {
      const std::string name = profile_.thread_name(process, tid);
      out_.threads.push_back(
          {process.pid, tid, process_name(process), name.empty() ? fmt::format("thread {}", tid) : name});
      name_service(out_.threads.back(), process);
    }
    return at->second;
  }

  void name_service(formats::TraceThread& thread, ProcessId id) const {
    const auto known = profile_.processes().find(id);
    if (known == profile_.processes().end()) return;
    const profile::ProcessRecord& process = known->second;
    thread.service = process.engine_name.empty() ? process.comm : process.engine_name;
    thread.version = process.engine_version;
  }

  void add_executions(const query::Selection& selection) {
    for (const profile::ExecutionRecord& execution : profile_.executions()) {
      if (!query::selected(selection, execution.process, execution.handle)) continue;
      const query::PlanModel* plan = profile_.plan(execution.process, execution.plan);
      const TimeNs begin = std::max(execution.begin, options_.from);
      const TimeNs end = std::min(execution.end == kTimeMax ? out_.end : execution.end, options_.to);
      if (execution.begin >= options_.to || (execution.end != kTimeMax && execution.end < options_.from))
        continue;
      out_.executions.push_back(
          {plan == nullptr || plan->name().empty() ? fmt::format("plan {}", execution.plan) : plan->name(),
           query::hex(execution.id), execution.process.pid, begin, std::max(end, begin)});
    }
  }

  const query::Profile& profile_;
  const TraceOptions& options_;
  query::NamedFunctions names_;
  Trace out_;
  std::map<std::uint16_t, std::uint16_t> sources_;
  std::unordered_map<const query::CellKey*, Owner> owners_;
  std::map<std::pair<const query::CellKey*, std::uint32_t>, std::uint32_t> stacks_;
  std::map<TraceFrame, std::uint32_t> frames_;
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;
  std::map<std::pair<TraceLabels, formats::TraceRun>, std::uint32_t> labels_;
  std::map<std::pair<ProcessId, std::int32_t>, std::uint32_t> threads_;
};

}  // namespace

Result<Trace> make_trace(const query::Profile& profile, const query::Selection& selection,
                         const TraceOptions& options) {
  return Making(profile, options).run(selection);
}

}  // namespace tailor::exporter
