#include "daemon/process/process_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tailor::process {
namespace {

// A plan may be said again with more components (code of another tier has instructions of its own), never
// with fewer: links that were accepted must not break.
Status check_update(const PlanState& old, const PlanState& next) {
  const bool same = old.slot == next.slot && old.generation == next.generation &&
                    old.component_counts.size() == next.component_counts.size();
  bool grows = same;
  for (std::size_t i = 0; same && i < old.component_counts.size(); ++i) {
    grows = grows && old.component_counts[i] <= next.component_counts[i];
  }
  if (grows) return Ok{};
  return invalid(fmt::format("plan {}: sent again with another slot or fewer components", next.id));
}

// In overload agents drop messages, and the daemon refuses some: the end of what was lost so is no fault of
// the engine's.
std::string not_here(const char* what, std::uint64_t id) {
  return fmt::format(
      "{} {}: it was unloaded, but its loading did not arrive (the agent's queue was full), or was "
      "refused before",
      what, id);
}

}  // namespace

ProcessState::ProcessState(ProcessId id, const Limits& limits, MapBudget* maps, FileBudget* files)
    : id_(id),
      limits_(limits),
      plans_(limits),
      code_(limits),
      ranges_(limits),
      regions_(limits),
      memory_(limits.memory_areas, maps),
      generated_(GeneratedMemory::kMostRanges, files),
      stubs_(limits.code_objects) {}

void ProcessState::start_agent(std::uint64_t connection, std::uint64_t tag_key, TimeNs time, bool own) {
  stop_agent(time);
  connection_ = connection;
  if (own && first_agent_ == kTimeMin) first_agent_ = time;
  agents_.push_back({time, tag_key, true, numbers_in_use_.behind()});
}

void ProcessState::start_resync(std::uint64_t connection) {
  connection_ = connection;
}

std::vector<CodeId> ProcessState::end_resync(TimeNs time) {
  plans_.remove_unseen(connection_, time);
  std::vector<CodeId> gone = code_.remove_unseen(connection_, time);
  for (const CodeId code : gone) stubs_.remove(code, time);
  return gone;
}

std::vector<CodeId> ProcessState::stop_agent(TimeNs time) {
  constexpr std::uint64_t kNobody = 0;
  connection_ = kNobody;
  if (!agents_.empty() && agents_.back().present) agents_.push_back({time, 0, false, numbers()});
  components_.clear();
  ranges_.clear();
  areas_.clear();
  regions_.clear(time);
  component_bytes_ = 0;
  for (auto& [tid, timeline] : threads_) timeline.reset(time);
  executions_.end_all(time);
  return end_resync(time);
}

Result<ProcessState::Loaded> ProcessState::load_plan(Result<PlanState> checked, TimeNs time) {
  if (!checked.ok()) return checked.error();
  checked->seen = connection_;
  if (PlanState* old = plans_.live(checked->id)) {
    Status update = check_update(*old, *checked);
    if (!update.ok()) return update.error();
    const bool grown =
        old->component_counts != checked->component_counts || old->attributes != checked->attributes;
    old->component_counts = std::move(checked->component_counts);
    old->attributes = checked->attributes;
    old->seen = connection_;
    return Loaded{grown};
  }
  checked->loaded = time;
  Status added = plans_.add(std::move(*checked));
  if (!added.ok()) return added.error();
  return Loaded{true};
}

// An agent that came back brings what it had loaded.
bool ProcessState::is_said_again(CodeId id, TimeNs time) {
  CodeState* old = code_.live(id);
  if (old == nullptr) return code_.says_again(id, time, connection_);
  if (old->seen == connection_) return false;
  old->seen = connection_;
  return true;
}

Result<ProcessState::Loaded> ProcessState::load_code(const v1::CodeObject& code, TimeNs time) {
  if (is_said_again(code.id(), time)) return Loaded{false};
  return load_code(code, check_code(code, limits_), time);
}

Result<ProcessState::Loaded> ProcessState::load_code(const v1::CodeObject& code, Result<CheckedCode> whole,
                                                     TimeNs time) {
  if (is_said_again(code.id(), time)) return Loaded{false};
  const PlanState* plan = code.plan_id() == 0 ? nullptr : plans_.live(code.plan_id());
  if (code.plan_id() != 0 && plan == nullptr) {
    return invalid(fmt::format("code object {}: its plan {} is not loaded", code.id(), code.plan_id()));
  }
  if (!whole.ok()) return whole.error();
  Result<CodeState> checked = fit_code(std::move(*whole), plan);
  if (!checked.ok()) return checked.error();
  if (const std::string problem = StubRanges::problem_of(code); !problem.empty())
    return invalid(fmt::format("code object {}: {}", code.id(), problem));
  checked->seen = connection_;
  checked->loaded = time;
  Status added = code_.add(std::move(*checked));
  if (!added.ok()) return added.error();
  stubs_.add(code, time);
  return Loaded{true};
}

Status ProcessState::unload_plan(PlanId id, TimeNs time) {
  if (plans_.remove(id, time)) return Ok{};
  return invalid(not_here("plan", id));
}

Status ProcessState::unload_code(CodeId id, TimeNs time) {
  stubs_.remove(id, time);
  if (code_.remove(id, time)) return Ok{};
  return invalid(not_here("code object", id));
}

Result<ProcessState::Loaded> ProcessState::declare_component(const v1::ComponentDeclare& component) {
  if (component.id() == 0 || component.id() > kHighestSaid)
    return invalid(
        fmt::format("component {}: it has no id, or one above {}", component.name(), kHighestSaid));
  if (components_.size() >= limits_.components_declared && !components_.contains(component.id())) {
    return exhausted(
        fmt::format("component {}: {} are declared already", component.id(), components_.size()));
  }
  const auto [known, fresh] = components_.try_emplace(component.id(), component.name());
  if (!fresh && known->second != component.name()) {
    return invalid(fmt::format("component {}: it was declared twice, with two names", component.id()));
  }
  if (fresh) component_bytes_ += component.name().size();
  return Loaded{fresh};
}

Status ProcessState::add_component_code(const v1::ComponentCode& code) {
  if (!components_.contains(code.id())) return invalid(fmt::format("component {}: not declared", code.id()));
  return ranges_.add(code.id(), code.begin(), code.end());
}

Status ProcessState::add_thread(const v1::ThreadAdd& thread, TimeNs time) {
  const auto tid = static_cast<std::int32_t>(thread.tid());
  Result<ThreadTimeline*> found = timeline(tid);
  if (!found.ok()) return found.error();
  areas_[{thread.arena(), thread.area()}] = tid;
  (*found)->restart(time);
  return Ok{};
}

void ProcessState::remove_thread(const v1::ThreadRemove& thread, TimeNs time) {
  const auto area = areas_.find({thread.arena(), thread.area()});
  if (area == areas_.end()) return;
  const auto found = threads_.find(area->second);
  if (found != threads_.end()) found->second.reset(time);
  areas_.erase(area);
}

bool ProcessState::add_region(std::int32_t tid, const tailor_log_record& record, TimeNs time) {
  // Memory belongs to the process, whichever thread speaks of it.
  if (record.kind == TAILOR_LOG_REGION_ADD) {
    regions_.add(record.id, record.a, record.b, time, tid);
  } else if (record.kind == TAILOR_LOG_REGION_REMOVE) {
    regions_.remove(record.a, time);
  } else {
    return false;
  }
  return true;
}

Status ProcessState::add_activity(std::int32_t tid, const tailor_log_record& record, TimeNs time) {
  if (add_region(tid, record, time)) return Ok{};
  Result<ThreadTimeline*> found = timeline(tid);
  if (!found.ok()) return found.error();
  add_mark(**found, record, time);
  return Ok{};
}

Status ProcessState::lose_activity(std::int32_t tid) {
  Result<ThreadTimeline*> found = timeline(tid);
  if (!found.ok()) return found.error();
  const std::size_t before = (*found)->changes();
  (*found)->lose();
  thread_changes_ += (*found)->changes() - before;
  return Ok{};
}

void ProcessState::trim(TimeNs watermark) {
  plans_.trim(watermark);
  regions_.advance(watermark);
  executions_.trim(watermark);
  code_.trim(watermark);
  stubs_.trim(watermark);
  while (agents_.size() > 1 && agents_[1].from <= watermark) agents_.erase(agents_.begin());
  for (auto thread = threads_.begin(); thread != threads_.end();) {
    const std::size_t before = thread->second.changes();
    thread->second.trim(watermark);
    thread_changes_ += thread->second.changes() - before;
    if (thread->second.idle()) {
      thread_changes_ -= thread->second.changes();
      found_[found_at(thread->first)] = nullptr;
      thread = threads_.erase(thread);
    } else {
      ++thread;
    }
  }
}

bool ProcessState::registered_at(TimeNs time) const {
  const Agent* agent = agent_at(time);
  return agent != nullptr && agent->present;
}

TimeNs ProcessState::registration_change_after(TimeNs time) const {
  const auto next = std::ranges::find_if(agents_, [time](const Agent& agent) { return agent.from > time; });
  return next == agents_.end() ? kTimeMax : next->from;
}

std::uint64_t ProcessState::tag_key_at(TimeNs time) const {
  const Agent* agent = agent_at(time);
  return agent == nullptr ? 0 : agent->tag_key;
}

ThreadContext ProcessState::find_context(std::int32_t tid, TimeNs time) const {
  const auto found = threads_.find(tid);
  if (found == threads_.end()) return {};
  std::atomic_ref(found_[found_at(tid)]).store(&*found, std::memory_order_relaxed);
  return found->second.at(time);
}

TimeNs ProcessState::context_change_after(std::int32_t tid, TimeNs time) const {
  const Threads::value_type* guess = std::atomic_ref(found_[found_at(tid)]).load(std::memory_order_relaxed);
  if (guess != nullptr && guess->first == tid) return guess->second.change_after(time);
  const auto found = threads_.find(tid);
  return found == threads_.end() ? kTimeMax : found->second.change_after(time);
}

std::size_t ProcessState::bytes() const {
  // Nodes of maps and pointers beside what is counted.
  constexpr std::size_t kNode = 64;
  return code_.bytes() + code_.nodes() * kNode + plans_.size() * (sizeof(PlanState) + 2 * kNode) +
         threads_.size() * (sizeof(ThreadTimeline) + kNode) +
         thread_changes_ * (sizeof(ThreadContext) + sizeof(TimeNs)) +
         region_count() * (sizeof(Region) + kNode) + components_.size() * kNode + component_bytes_ +
         areas_.size() * kNode;
}

const ProcessState::Agent* ProcessState::agent_at(TimeNs time) const {
  for (auto agent = agents_.rbegin(); agent != agents_.rend(); ++agent) {
    if (agent->from <= time) return &*agent;
  }
  return nullptr;
}

Result<ThreadTimeline*> ProcessState::timeline(std::int32_t tid) {
  if (tid <= 0) return invalid("activity of a thread whose id is not known here");
  const auto found = threads_.find(tid);
  if (found != threads_.end()) return &found->second;
  if (threads_.size() >= limits_.threads) {
    return exhausted(fmt::format("thread {}: {} have logs already", tid, threads_.size()));
  }
  return &threads_.try_emplace(tid, limits_).first->second;
}

}  // namespace tailor::process
