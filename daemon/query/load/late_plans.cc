#include "daemon/query/load/late_plans.h"

#include <algorithm>
#include <iterator>

#include "tailor/tag.h"

namespace tailor::query {
namespace {

using profile::How;
using profile::Reason;

constexpr std::size_t kPlanNode = 64;  // of a map, about

// The watermark waits for what agents have not said yet, but no longer than some seconds: one that is told
// sooner than this is there beside its samples.
constexpr TimeNs kToldLate = 1'000'000'000;

// Executions of a plan that began while it was late: of more no sample finds its own.
constexpr std::size_t kMostRuns = 256;

// As of process_state.h: an engine before its own agent speaks.
constexpr std::uint32_t kStart = 0xFFFF'FFFE;

std::uint32_t slot_of(std::uint32_t slot, std::uint32_t generation) {
  return slot << 4 | (generation & 0xF);
}

// What counts before a tag, and what a tag said already.
bool is_settled(How how) {
  return how == How::kCode || how == How::kKernelCode || how == How::kTag || how == How::kKernelTag ||
         how == How::kTagUnwound;
}

}  // namespace

void LatePlans::on_process(const profile::ProcessRecord& record) {
  if (record.registered == kTimeMin) return;
  if (processes_[record.process].keys.insert_or_assign(record.registered, record.tag_key).second)
    bytes_ += kPlanNode;
}

void LatePlans::on_component(ProcessId process, std::uint32_t id) {
  if (processes_[process].components.insert(id).second) bytes_ += kPlanNode;
}

void LatePlans::on_plan(ProcessId id, TimeNs loaded, const v1::Plan& said) {
  Process& process = processes_[id];
  std::vector<Plan>& plans = process.slots[slot_of(said.slot(), said.generation())];
  auto at = std::ranges::find(plans, said.id(), &Plan::id);
  if (at == plans.end()) {
    const auto after = std::ranges::upper_bound(plans, loaded, {}, &Plan::loaded);
    at = plans.insert(after, Plan{.id = said.id(), .loaded = loaded});
    bytes_ += sizeof(Plan) + kPlanNode;
  }
  // One that has grown is told again.
  const auto level_of = [&](std::uint32_t level, std::uint32_t& components) {
    components = 0;
    if (level < static_cast<std::uint32_t>(said.levels_size()))
      components = said.levels(static_cast<int>(level)).component_count();
    return static_cast<LevelIndex>(level);
  };
  at->upper_level = level_of(said.tag_upper_level(), at->uppers);
  at->lower_level = level_of(said.tag_lower_level(), at->lowers);
  at->has_lower_level = said.has_tag_lower_level();
  if (said.late_until() == 0) return;
  at->late_until = std::max(at->late_until, said.late_until());
  process.late_until = std::max(process.late_until, at->late_until);
  ++late_;
}

void LatePlans::on_execution(const profile::ExecutionRecord& execution) {
  const bool told_late = execution.heard - execution.begin >= kToldLate;
  const auto found = processes_.find(execution.process);
  const bool matters =
      told_late || (found != processes_.end() && execution.begin <= found->second.late_until);
  if (execution.plan == 0 || !matters) return;
  const Run run{execution.plan, execution.begin, execution.end};
  if (processes_[execution.process].runs.insert_or_assign(execution.handle, run).second)
    bytes_ += sizeof(Run) + 2 * kPlanNode;
  std::set<ExecutionHandle>& of_plan = runs_of_[{execution.process, execution.plan}];
  if (of_plan.size() <= kMostRuns) of_plan.insert(execution.handle);
}

void LatePlans::on_unregistered(ProcessId process, TimeNs first) {
  TimeNs& known = processes_[process].unregistered;
  if (known == kTimeMax) bytes_ += kPlanNode;
  known = std::min(known, first);
}

// Whether the first agent of the process was its own, and came after samples had been attributed.
bool LatePlans::started_unseen(const Process& process) {
  return !process.keys.empty() && process.unregistered < process.keys.begin()->first &&
         process.components.contains(kStart);
}

bool LatePlans::empty() const {
  return late_ == 0 &&
         std::ranges::none_of(processes_, [](const auto& each) { return started_unseen(each.second); });
}

bool LatePlans::came_late(ProcessId process) const {
  const auto known = processes_.find(process);
  return known != processes_.end() && (known->second.late_until != kTimeMin || started_unseen(known->second));
}

bool LatePlans::key_fits(const Process& process, const profile::SampleRecord& sample) {
  const auto after = process.keys.upper_bound(sample.time);
  return after != process.keys.begin() && tailor_tag_fits(std::prev(after)->second, sample.tag) != 0;
}

// The one that had slot and generation at the time of the sample, if it was told of after that. (When a plan
// is unloaded is not kept: a tag of one that is no more is an error of the engine's.)
const LatePlans::Plan* LatePlans::plan_of(const Process& process, const profile::SampleRecord& sample) {
  const auto plans =
      process.slots.find(slot_of(tailor_tag_plan_slot(sample.tag), tailor_tag_generation(sample.tag)));
  if (plans == process.slots.end()) return nullptr;
  const auto after = std::ranges::upper_bound(plans->second, sample.time, {}, &Plan::loaded);
  if (after == plans->second.begin()) return nullptr;
  const Plan& plan = *std::prev(after);
  return sample.time <= plan.late_until ? &plan : nullptr;
}

// As attribution does it: daemon/attribute/attribute.cc, by_tag().
bool LatePlans::name(const Process& process, const Plan& plan, profile::SampleRecord& sample) {
  const std::uint32_t upper = tailor_tag_upper(sample.tag), lower = tailor_tag_lower(sample.tag);
  profile::Attribution& out = sample.attribution;
  const bool of_component = upper == 0 && !plan.has_lower_level;
  if (of_component && (lower == 0 || !process.components.contains(lower))) return false;
  const bool has_lower = plan.has_lower_level && lower != 0;
  if (upper > plan.uppers || (has_lower && lower > plan.lowers)) return false;
  if (!of_component && !has_lower && upper == 0) return false;
  out.reason = Reason::kNone;
  if (out.how == How::kCallchain) out.code = 0;  // that of the caller
  out.quality = profile::Quality::kExact;
  out.plan = plan.id;
  out.engine_component = of_component ? lower : 0;
  out.level = has_lower ? plan.lower_level : plan.upper_level;
  out.link = of_component ? 0 : (has_lower ? lower : upper) << 1;
  out.how = of_component                          ? How::kComponentInterval
            : sample.mode == profile::Mode::kUser ? How::kTag
                                                  : How::kKernelTag;
  return true;
}

// As join_execution() in daemon/attribute/attribute.h.
void LatePlans::join(ProcessId id, const Process& process, const Plan& plan,
                     profile::SampleRecord& sample) const {
  profile::Attribution& out = sample.attribution;
  const auto known = process.runs.find(out.execution);
  if (out.execution != 0 && known != process.runs.end() && known->second.plan != plan.id) {
    out.execution = 0;
    out.pipeline = 0;
    return;
  }
  const auto runs = runs_of_.find({id, plan.id});
  if (out.execution != 0 || runs == runs_of_.end() || runs->second.size() > kMostRuns) return;
  ExecutionHandle sole = 0;
  for (const ExecutionHandle handle : runs->second) {
    const auto run = process.runs.find(handle);
    if (run == process.runs.end() || run->second.plan != plan.id || run->second.begin > sample.time ||
        run->second.end <= sample.time)
      continue;
    if (sole != 0) return;
    sole = handle;
  }
  out.execution = sole;
}

// As attribution does it: daemon/attribute/attribute.cc, by_component().
bool LatePlans::name_start(profile::SampleRecord& sample) const {
  profile::Attribution& out = sample.attribution;
  const auto known = processes_.find(sample.process);
  if (known == processes_.end() || !started_unseen(known->second) ||
      sample.time >= known->second.keys.begin()->first)
    return false;
  out.reason = Reason::kNone;
  out.how = How::kComponentInterval;
  out.engine_component = kStart;
  sample.alike = 0;
  return true;
}

bool LatePlans::apply(profile::SampleRecord& sample) const {
  if (sample.attribution.reason == Reason::kNotRegistered && name_start(sample)) return true;
  if (late_ == 0 || !sample.has_tag || sample.tag == TAILOR_TAG_NONE || is_settled(sample.attribution.how))
    return false;
  const auto known = processes_.find(sample.process);
  if (known == processes_.end() || sample.time > known->second.late_until || !key_fits(known->second, sample))
    return false;
  const bool unattributed = sample.attribution.how == How::kUnattributed;
  const Plan* plan = plan_of(known->second, sample);
  if (plan == nullptr || !name(known->second, *plan, sample)) return false;
  sample.alike = 0;
  join(sample.process, known->second, *plan, sample);
  // The work of an engine component is none of the plan's.
  if (sample.attribution.engine_component != 0) sample.attribution.plan = 0;
  return unattributed;
}

}  // namespace tailor::query
