#include "daemon/pipeline/process_lives.h"

#include <algorithm>
#include <string>

namespace tailor::pipeline {

void ProcessLives::known(const KnownProcess& process, TimeNs now) {
  ProcessEntry& entry = table_.get(process.process, now);
  entry.record.comm = process.comm;
  entry.record.cgroup = process.cgroup;
  if (!process.rules.empty()) entry.record.rules = process.rules;
  entry.record_changed = true;
  if (!accounts_.expects_others()) entry.begin_own_records();
  mappings_.seen(entry, process, now);
  if (process.agent_thread == 0) return;
  entry.state.set_agent_thread(process.agent_thread);
  tell_agent(sink_, entry);
}

void ProcessLives::named(const capture::Batch& batch, const capture::Event& event) {
  ProcessEntry* entry = accounts_.owner(event.pid, event.time);
  if (entry == nullptr) return;
  if (event.flag_exec) {
    messages_.executed(*entry, event.time);
    // If the next program's agent has spoken already, this code was ended too late: at that time, not at the
    // exec.
    entry->state.end_code(0, UINT64_MAX, event.time, event.time);
    entry->state.memory().clear();
    entry->state.generated().clear();
    entry->files.clear();
    ++entry->executed;
    entry->executed_at = event.time;
    entry->jitdumps.clear();
    mappings_.executed(*entry, event.time);
  }
  std::string name(batch.text_of(event));
  if (event.pid == event.tid) {
    entry->record.comm = name;
    entry->record_changed = true;
  }
  if (name == process::kAgentThreadName && event.tid != event.pid) {
    entry->state.set_agent_thread(event.tid);
    tell_agent(sink_, *entry);
  }
  sink_.on_thread(entry->id(), event.tid, name);
}

// The child may be known already: its agent speaks through a socket, which is faster than a ring. One of
// which only the number is known, and which has ended by then, had the number before it.
void ProcessLives::forked(const capture::Event& event) {
  ProcessEntry* newest = table_.at(event.pid, kTimeMax);
  const bool another = newest == nullptr || newest->was_there_before(event.time) ||
                       (newest->id().start == 0 && newest->ended <= event.time);
  ProcessEntry* child = another ? table_.add_unnamed(event.pid, event.time) : newest;
  if (!another) child->since = std::min(child->since, event.time);
  ProcessEntry* parent = table_.at(event.parent_pid, event.time);
  if (child == nullptr || parent == nullptr || parent == child) return;
  // A look at it knows better.
  if (child->mappings == 0) child->state.generated() = parent->state.generated();
  if (another) {
    child->record.comm = parent->record.comm;
    child->state.memory() = parent->state.memory();
  }
  start_on_behalf(event, *child);
  child->forked_off(*parent, event.time);
}

// A loader that an engine starts is work of the component that started it, and so is what that one starts.
void ProcessLives::start_on_behalf(const capture::Event& event, ProcessEntry& child) {
  const ProcessEntry* parent = table_.at(event.parent_pid, event.time);
  if (parent == nullptr || parent == &child) return;
  const bool registered = parent->state.registered_at(event.time);
  const std::uint32_t component = registered
                                      ? parent->state.context_at(event.parent_tid, event.time).component
                                      : parent->state.started_by();
  const std::string* name = parent->state.component_name(component);
  if (!registered && component != 0) name = &parent->started_by;
  if (name == nullptr) return;
  child.state.set_started_by(process::kStartedByComponent);
  child.started_by = *name;
  sink_.on_component(child.id(), process::kStartedByComponent, *name);
}

// Processes of which only the number is known have nobody else who says that they ended.
void ProcessLives::exited(const capture::Event& event) {
  ProcessEntry* entry = table_.at(event.pid, event.time);
  const bool process = event.pid == event.tid;
  if (process && entry != nullptr && entry->id().start == 0)
    entry->ended = std::min(entry->ended, event.time);
}

}  // namespace tailor::pipeline
