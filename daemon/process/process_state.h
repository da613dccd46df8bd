// All that attribution knows of one process, as a function of time.
//
// Life: made when the process is first heard of; changed by the control thread, from agent messages and
// activity logs whose times were converted; read by attribute(), which runs behind a watermark; trimmed once
// the watermark has passed, so that what is over does not stay. The messages of an agent are validated here:
// a refusal is an error with its reason, and changes nothing.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "daemon/process/agent_numbers.h"
#include "daemon/process/code_index.h"
#include "daemon/process/code_state.h"
#include "daemon/process/component_ranges.h"
#include "daemon/process/generated_memory.h"
#include "daemon/process/limits.h"
#include "daemon/process/memory_map.h"
#include "daemon/process/plan_index.h"
#include "daemon/process/plan_state.h"
#include "daemon/process/region_timeline.h"
#include "daemon/process/running_executions.h"
#include "daemon/process/stub_ranges.h"
#include "daemon/process/thread_timeline.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::process {

// The engine component that the agent itself is. Engines may declare numbers up to kHighestSaid.
inline constexpr std::uint32_t kAgentComponent = 0xFFFF'FFFF;
inline constexpr const char* kAgentComponentName = "tailor agent";
// And what the process did before its first agent spoke: loading and initialising the engine.
inline constexpr std::uint32_t kStartComponent = 0xFFFF'FFFE;
inline constexpr const char* kStartComponentName = "start";
// And what it did on behalf of the component that started it, with that one's name: its own agent counts its
// components from 1, too.
inline constexpr std::uint32_t kStartedByComponent = 0xFFFF'FFFD;
static_assert(kStartedByComponent > kHighestSaid);
// What the agent calls its thread (agent/sender.cc).
inline constexpr const char* kAgentThreadName = "tailor-agent";
inline constexpr const char* kAgentLibrary = "/libtailor_agent.so";  // and its version

class ProcessState {
 public:
  // `maps`, `files`: of the memory maps of all processes together, and of where they have code; must outlive
  // it. NULL: no bound.
  ProcessState(ProcessId id, const Limits& limits, MapBudget* maps = nullptr, FileBudget* files = nullptr);

  // ---- Changes: control thread only. ----

  // A new agent speaks for the process: what another one said before ends at `time`.
  // `own`: it is the process's own, before whose first message the process was starting.
  void start_agent(std::uint64_t connection, std::uint64_t tag_key, TimeNs time, bool own = true);
  // The same agent is back: it says again all that is live, until end_resync.
  void start_resync(std::uint64_t connection);
  // The numbers that profiles have for what the agent that speaks says, or spoke last.
  AgentNumbers numbers() const { return agents_.empty() ? AgentNumbers() : agents_.back().numbers; }
  // Those that were told of are taken: the next agent's are others.
  NumbersInUse& numbers_in_use() { return numbers_in_use_; }
  // Everything that was not said again is over since `time`. Returns the ids of code objects that ended.
  std::vector<CodeId> end_resync(TimeNs time);
  // No agent speaks for the process any more (it said goodbye, or the process ended). As end_resync.
  std::vector<CodeId> stop_agent(TimeNs time);

  // `fresh` is false when the plan (or code object) was known and is only being said again.
  struct Loaded {
    bool fresh = true;
  };
  Result<Loaded> load_plan(const v1::Plan& plan, TimeNs time) {
    return load_plan(check_plan(plan, limits_), time);
  }
  Result<Loaded> load_code(const v1::CodeObject& code, TimeNs time);
  // The same where the checks were made before, which take long for a large plan or code object.
  Result<Loaded> load_plan(Result<PlanState> checked, TimeNs time);
  Result<Loaded> load_code(const v1::CodeObject& code, Result<CheckedCode> whole, TimeNs time);
  Status unload_plan(PlanId id, TimeNs time);
  Status unload_code(CodeId id, TimeNs time);
  // At `time` something else took the place of the code that was loaded before `loaded_before`.
  void end_code(std::uint64_t begin, std::uint64_t end, TimeNs loaded_before, TimeNs time) {
    code_.end_code(begin, end, loaded_before, time);
  }

  Result<Loaded> declare_component(const v1::ComponentDeclare& component);
  Status add_component_code(const v1::ComponentCode& code);

  // A thread (id as the daemon sees it) took, or gave back, an area.
  Status add_thread(const v1::ThreadAdd& thread, TimeNs time);
  void remove_thread(const v1::ThreadRemove& thread, TimeNs time);
  // What the thread worked on, to which the records of its log are added in their order; made if new. Valid
  // until the next trim().
  Result<ThreadTimeline*> timeline(std::int32_t tid);
  // A record that speaks of memory, of whatever thread. False: it does not.
  bool add_region(std::int32_t tid, const tailor_log_record& record, TimeNs time);
  // One record, which does not speak of memory, of that timeline.
  void add_mark(ThreadTimeline& of, const tailor_log_record& record, TimeNs time) {
    const std::size_t before = of.changes();
    of.add(record, time);
    thread_changes_ += of.changes() - before;
  }
  // One record, whatever it speaks of.
  Status add_activity(std::int32_t tid, const tailor_log_record& record, TimeNs time);
  // Records of it that followed those given so far could not be read.
  Status lose_activity(std::int32_t tid);

  // The process said so, whichever threads work for it.
  void begin_execution(ExecutionHandle handle, PlanId plan, TimeNs time) {
    executions_.begin(handle, plan, time);
  }
  void end_execution(ExecutionHandle handle, TimeNs time) { executions_.end(handle, time); }

  // The region that held `address` at `time`, NULL: none. Times of questions grow.
  const Region* region_at(std::uint64_t address, TimeNs time) { return regions_.find(address, time); }
  // RegionTimeline::take_found().
  std::vector<RegionChange> take_found_regions() { return regions_.take_found(); }

  // Whether its first agent was still to come then.
  bool starting_at(TimeNs time) const { return time < first_agent_; }

  // That thread is the agent's own: what it does is kAgentComponent's.
  void set_agent_thread(std::int32_t tid) { agent_thread_ = tid; }

  // A component of its parent started it: what it does is kStartedByComponent's, as long as no agent speaks
  // for it. 0: none did.
  void set_started_by(std::uint32_t component) { started_by_ = component; }
  std::uint32_t started_by() const { return started_by_; }
  // Of an engine component in a tag.
  std::uint32_t component_of_tag(std::uint32_t said, TimeNs time) const {
    const Agent* agent = agent_at(time);
    return agent == nullptr ? said : agent->numbers.component(said);
  }
  // As declared, NULL: it was not.
  const std::string* component_name(std::uint32_t component) const {
    const auto found = components_.find(component);
    return found == components_.end() ? nullptr : &found->second;
  }

  // And that range is its code: the shared library, where the engine uses that one.
  void set_agent_code(std::uint64_t begin, std::uint64_t bytes) {
    agent_code_ = begin;
    agent_code_bytes_ = bytes;
  }

  // Its mappings, where the recording asks for them.
  MemoryMap& memory() { return memory_; }
  const MemoryMap& memory() const { return memory_; }
  // Where it made code by itself, as far as mappings tell.
  GeneratedMemory& generated() { return generated_; }
  const GeneratedMemory& generated() const { return generated_; }

  // Its agent keeps tags in the memory slots of threads, not in a register.
  void set_tags_in_memory(bool in_memory) { tags_in_memory_ = in_memory; }

  // Everything up to `watermark` was attributed.
  void trim(TimeNs watermark);

  // ---- Questions: no allocation, no change. ----

  ProcessId id() const { return id_; }
  // Registered at `time`: an agent spoke for it.
  bool registered_at(TimeNs time) const;
  // When that, or who speaks, changes next after `time`; kTimeMax: it does not.
  TimeNs registration_change_after(TimeNs time) const;
  // 0 where there is none: no tag fits then.
  std::uint64_t tag_key_at(TimeNs time) const;
  // What the slot of a thread said then, with numbers of its agent.
  ThreadContext renumbered(ThreadContext said, TimeNs time) const {
    const Agent* agent = agent_at(time);
    if (agent == nullptr || !agent->numbers.change()) return said;
    said.execution = agent->numbers.execution(said.execution);
    said.plan = agent->numbers.plan(said.plan);
    said.component = agent->numbers.component(said.component);
    return said;
  }
  const CodeState* code_at(std::uint64_t address, TimeNs time) const { return code_.find(address, time); }
  const PlanState* plan_of_tag(std::uint32_t slot, std::uint32_t generation, TimeNs time) const {
    return plans_.find(slot, generation, time);
  }
  ThreadContext context_at(std::int32_t tid, TimeNs time) const {
    if (tid == agent_thread_ && tid != 0) return {.component = kAgentComponent};
    if (threads_.empty()) return {};
    const Threads::value_type* guess = std::atomic_ref(found_[found_at(tid)]).load(std::memory_order_relaxed);
    return guess != nullptr && guess->first == tid ? guess->second.at(time) : find_context(tid, time);
  }
  // The one execution of the plan that ran at `time`; 0: none, or several.
  ExecutionHandle sole_execution(PlanId plan, TimeNs time) const { return executions_.sole(plan, time); }
  // Until when the context at `time` holds, by what is known so far.
  TimeNs context_change_after(std::int32_t tid, TimeNs time) const;
  std::uint32_t component_of_code(std::uint64_t address) const {
    return address - agent_code_ < agent_code_bytes_ ? kAgentComponent : ranges_.find(address);
  }
  // It made the code at `address` by itself, and no agent told whose it is: neither by a code object, with or
  // without a plan, or as its stubs, nor as an engine component's.
  bool unregistered_code_at(std::uint64_t address, TimeNs time) const {
    return generated_.holds(address) && code_at(address, time) == nullptr &&
           component_of_code(address) == 0 && !stubs_.holds(address, time);
  }
  bool tags_in_memory() const { return tags_in_memory_; }

  // What it holds, for the bounds and the status.
  std::size_t code_objects() const { return code_.size(); }
  std::size_t plans() const { return plans_.size(); }
  std::size_t threads() const { return threads_.size(); }
  // About what it takes, machine code, tables and marks included. O(1).
  std::size_t bytes() const;
  std::size_t live_plans() const { return plans_.live_count(); }
  bool has_plan(PlanId id) { return plans_.live(id) != nullptr; }  // now
  std::size_t code_bytes() const { return code_.bytes(); }
  std::size_t region_count() const { return regions_.live() + regions_.waiting(); }
  const CodeIndex& code() const { return code_; }
  const RegionTimeline& regions() const { return regions_; }

 private:
  // The agent that spoke from `from` on, with its key.
  struct Agent {
    TimeNs from;
    std::uint64_t tag_key;
    bool present;
    AgentNumbers numbers;
  };
  using Threads = std::unordered_map<std::int32_t, ThreadTimeline>;
  using Area = std::tuple<std::uint32_t, std::uint32_t>;  // arena, area

  static constexpr std::size_t kFound = 16;
  static std::size_t found_at(std::int32_t tid) { return static_cast<std::uint32_t>(tid) % kFound; }
  bool is_said_again(CodeId id, TimeNs time);
  ThreadContext find_context(std::int32_t tid, TimeNs time) const;
  const Agent* agent_at(TimeNs time) const;

  ProcessId id_;
  Limits limits_;
  std::uint64_t connection_ = 0;
  std::int32_t agent_thread_ = 0;
  std::uint32_t started_by_ = 0;  // 0: nothing is known of that
  std::uint64_t agent_code_ = 0, agent_code_bytes_ = 0;
  std::vector<Agent> agents_;
  NumbersInUse numbers_in_use_;
  TimeNs first_agent_ = kTimeMin;  // when it spoke, kTimeMin: none ever did
  PlanIndex plans_;
  CodeIndex code_;
  std::map<std::uint32_t, std::string> components_;
  ComponentRanges ranges_;
  Threads threads_;
  std::size_t thread_changes_ = 0;  // of all of threads_
  std::size_t component_bytes_ = 0;
  mutable std::array<const Threads::value_type*, kFound> found_{};  // of threads_, asked for last
  std::map<Area, std::int32_t> areas_;
  RegionTimeline regions_;
  MemoryMap memory_;
  GeneratedMemory generated_;
  StubRanges stubs_;
  bool tags_in_memory_ = false;
  RunningExecutions executions_;
};

}  // namespace tailor::process
