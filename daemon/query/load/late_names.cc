#include "daemon/query/load/late_names.h"

#include <algorithm>
#include <string>
#include <utility>

#include "daemon/profile/told_by.h"

namespace tailor::query {
namespace {

using profile::How;
using profile::Quality;

// Of one process; a runtime that makes more of it says the rest in vain.
constexpr std::size_t kMostCodes = std::size_t{1} << 20;

constexpr std::size_t kNode = 64;  // of a map, about

std::uint64_t size_of(const v1::CodeObject& code) {
  return code.size() != 0 ? code.size() : code.code().size();
}

// A file may hold any number.
Quality quality_of(char flag) {
  const auto number = static_cast<std::uint8_t>(flag);
  return number <= v1::ROW_UNMAPPED ? static_cast<Quality>(number) : Quality::kUnmapped;
}

}  // namespace

void LateNames::on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) {
  plans_.on_plan(process, loaded, plan);
  if (plan.levels_size() == 0) return;
  const auto lowest = static_cast<LevelIndex>(plan.levels_size() - 1);
  if (processes_[process].lowest.insert_or_assign(plan.id(), lowest).second) bytes_ += kNode;
}

bool LateNames::came_late(ProcessId process) const {
  if (plans_.came_late(process)) return true;
  const auto known = processes_.find(process);
  return known != processes_.end() && !known->second.codes.empty();
}

void LateNames::on_execution(const profile::ExecutionRecord& execution) {
  plans_.on_execution(execution);
  const auto process = processes_.find(execution.process);
  if (execution.plan == 0 || process == processes_.end() || process->second.last_of.empty()) return;
  if (process->second.plans.insert_or_assign(execution.handle, execution.plan).second) bytes_ += kNode;
}

void LateNames::on_code_unload(ProcessId id, TimeNs time, CodeId code) {
  const auto process = processes_.find(id);
  if (process == processes_.end()) return;
  const auto last = process->second.last_of.find(code);
  if (last == process->second.last_of.end()) return;
  Code& ended = process->second.codes[last->second];
  if (time < ended.loaded) return;  // it is of an older one of that number
  ended.unloaded = std::min(ended.unloaded, time);
}

void LateNames::on_executed(ProcessId id, TimeNs time) {
  std::vector<TimeNs>& programs = programs_[id];
  if (!programs.empty() && time <= programs.back()) return;
  bytes_ += programs.empty() ? kNode : sizeof time;
  programs.push_back(time);
}

// Code is of the program that ran since then.
bool LateNames::executed_between(ProcessId id, TimeNs since, TimeNs time) const {
  const auto programs = programs_.find(id);
  if (programs == programs_.end()) return false;
  const auto next = std::ranges::upper_bound(programs->second, since);
  return next != programs->second.end() && *next <= time;
}

void LateNames::on_code(ProcessId id, TimeNs loaded, const v1::CodeObject& code) {
  const std::uint64_t size = size_of(code);
  if (code.told_by() == v1::TOLD_BY_AGENT || size == 0 || code.base() > UINT64_MAX - size) return;
  Process& process = processes_[id];
  if (process.codes.size() >= kMostCodes) {
    ++refused_;
    return;
  }
  Code& kept = process.codes.emplace_back();
  kept.untimed = code.told_by() == v1::TOLD_BY_PERF_MAP;
  kept.id = code.id();
  kept.plan = code.plan_id();
  kept.loaded = kept.untimed ? kTimeMin : loaded;
  const auto programs = programs_.find(id);
  if (kept.untimed && programs != programs_.end()) kept.since = programs->second.back();
  if (!kept.untimed) kept.since = loaded;
  kept.begin = code.base();
  kept.end = code.base() + size;
  kept.of_agent = code.told_by() == profile::kToldByAgentLate;
  process.settled = false;
  bytes_ += sizeof kept + LateSpans::kOfAPiece;
  ++codes_;
  if (kept.of_agent) {
    process.last_of[kept.id] = process.codes.size() - 1;
    bytes_ += kNode;
  }
  keep_rows(code, kept);
}

void LateNames::keep_rows(const v1::CodeObject& code, Code& kept) {
  const v1::RowTable& rows = code.rows();
  kept.level = kept.untimed ? 0 : 1;  // foreign::ForeignPlan
  std::uint32_t offset = 0, link = 0;
  for (int i = 0; i < rows.offset_delta_size() && i < rows.link_delta_size(); ++i) {
    offset += rows.offset_delta(i);
    link += static_cast<std::uint32_t>(rows.link_delta(i));
    Quality quality = kept.untimed ? Quality::kInferred : Quality::kExact;
    const auto at = static_cast<std::size_t>(i);
    if (kept.of_agent) quality = at < rows.flags().size() ? quality_of(rows.flags()[at]) : Quality::kUnmapped;
    kept.rows.push_back({offset, link, quality});
  }
  bytes_ += kept.rows.capacity() * sizeof(Row);
}

void LateNames::settle(Process& process) {
  process.settled = true;
  std::vector<LateSpans::Piece> pieces;
  pieces.reserve(process.codes.size());
  for (const Code& code : process.codes) pieces.push_back({code.begin, code.end, code.loaded, code.untimed});
  process.spans = LateSpans(pieces);
}

std::uint64_t LateNames::left_out() const {
  std::uint64_t out = refused_;
  for (const auto& [id, process] : processes_) out += process.spans.left_out();
  return out;
}

const LateNames::Code* LateNames::find(ProcessId id, std::uint64_t address, TimeNs time) {
  const auto known = processes_.find(id);
  if (known == processes_.end() || address == 0) return nullptr;
  Process& process = known->second;
  if (!process.settled) settle(process);
  const auto found = process.spans.find(address, time);
  if (!found) return nullptr;
  const Code& code = process.codes[*found];
  if (code.unloaded <= time || time < code.since || executed_between(id, code.since, time)) return nullptr;
  return &code;
}

// Without code of the engine that belongs to no plan: it works for its callers.
const LateNames::Code* LateNames::find_planned(ProcessId id, std::uint64_t address, TimeNs time) {
  const Code* const found = find(id, address, time);
  return found != nullptr && found->of_agent && found->plan == 0 ? nullptr : found;
}

void LateNames::name(const Code& code, std::uint64_t address, How how, profile::SampleRecord& sample) {
  profile::Attribution& attribution = sample.attribution;
  sample.alike = 0;
  attribution.how = how;
  attribution.reason = profile::Reason::kNone;
  attribution.code = code.id;
  attribution.plan = code.plan;
  attribution.level = code.level;
  attribution.engine_component = 0;
  const auto after = std::ranges::upper_bound(code.rows, address - code.begin, {}, &Row::offset);
  const bool owned = after != code.rows.begin();
  attribution.link = owned ? std::prev(after)->link : 0;
  attribution.quality = owned ? std::prev(after)->quality : Quality::kUnmapped;
}

// Attribution named no code, or some that is known here too: else that may be more inside than what is.
bool LateNames::knows_code_of(const Process& process, const profile::Attribution& attribution) {
  return attribution.code == 0 || process.last_of.contains(attribution.code);
}

// What attribution did not know, code that came late tells where it is more inside than what was known.
bool LateNames::take_agents(const Code& found, std::uint64_t address, How how,
                            profile::SampleRecord& sample) {
  profile::Attribution& attribution = sample.attribution;
  const bool by_code = attribution.how == How::kCode || attribution.how == How::kKernelCode;
  const Process& process = processes_[sample.process];
  if (by_code || found.id == attribution.code || !knows_code_of(process, attribution)) return false;
  const auto level = process.lowest.find(found.plan);
  if (level == process.lowest.end()) return false;
  const bool unattributed = attribution.how == How::kUnattributed;
  const auto plan = process.plans.find(attribution.execution);
  const bool of_another = plan != process.plans.end() && plan->second != found.plan;
  if (of_another && !unattributed) return false;
  name(found, address, how, sample);
  attribution.level = level->second;
  if (of_another) {
    attribution.execution = 0;
    attribution.pipeline = 0;
  }
  return unattributed;
}

bool LateNames::take(const Code& found, std::uint64_t address, How how, profile::SampleRecord& sample) {
  if (found.of_agent) return take_agents(found, address, how, sample);
  const bool unattributed = sample.attribution.how == How::kUnattributed;
  const bool by_component =
      sample.attribution.how == How::kComponentInterval || sample.attribution.how == How::kComponentCode;
  if (by_component || (how == How::kCallchain && !unattributed)) return false;
  name(found, address, how, sample);
  return unattributed;
}

bool LateNames::apply(profile::SampleRecord& sample) {
  const bool by_code = apply_code(sample);
  return plans_.apply(sample) || by_code;
}

bool LateNames::apply_code(profile::SampleRecord& sample) {
  const How was = sample.attribution.how;
  const bool by_tag = was == How::kTag || was == How::kKernelTag || was == How::kTagUnwound;
  if (by_tag || !processes_.contains(sample.process)) return false;
  const bool kernel = sample.mode != profile::Mode::kUser;
  const std::uint64_t address = kernel ? sample.user_ip : sample.ip;
  if (const Code* const found = find_planned(sample.process, address, sample.time))
    return take(*found, address, kernel ? How::kKernelCode : How::kCode, sample);
  if (was == How::kCode || was == How::kKernelCode) return false;
  for (const profile::StackFrame* frame = sample.stack; frame != nullptr; frame = frame->caller) {
    if (profile::is_kernel_address(frame->address) || frame->address < 2) continue;
    const Code* const found = find_planned(sample.process, frame->address - 1, sample.time);
    if (found != nullptr) return take(*found, frame->address - 1, How::kCallchain, sample);
  }
  return false;
}

std::optional<LateNames::CodeAt> LateNames::code_at(ProcessId process, std::uint64_t address, TimeNs time) {
  const Code* const found = find(process, address, time);
  if (found == nullptr) return std::nullopt;
  return CodeAt{found->id, found->loaded};
}

}  // namespace tailor::query
