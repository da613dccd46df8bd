#include "daemon/pipeline/process_table.h"

#include <algorithm>
#include <utility>

#include "daemon/profile/accounting.h"

namespace tailor::pipeline {
namespace {

// When the last sample of it was taken. The kernel frees a process's memory after it has told of its end. Of
// a process of which only the number is known, such a sample would begin another one of the same name, whose
// accounting would take the place of the first one's.
TimeNs gone_at(const ProcessEntry& entry) {
  constexpr TimeNs kFreesMemoryFor = 1'000'000'000;
  const bool freeing = entry.id().start == 0 && entry.ended > entry.since && entry.ended != kTimeMax;
  return freeing ? entry.ended + kFreesMemoryFor : entry.ended;
}

// How much is to be freed with it, in ranges of memory.
std::size_t size_of(const ProcessEntry& entry) {
  return entry.files.own_size() + entry.state.memory().own_size();
}

}  // namespace

// Holes that other memory makes in files are pieces too: as many as there may be files.
ProcessEntry::ProcessEntry(ProcessId id, TimeNs from, const process::Limits& limits, Budgets& budgets)
    : state(id, limits, &budgets.maps, &budgets.files),
      since(from),
      files(2 * limits.mappings, &budgets.files) {
  record.process = id;
  accounting.process = id;
}

void ProcessEntry::forked_off(ProcessEntry& parent, TimeNs time) {
  if (own_records) return;
  record.parent = parent.id();
  record.forked = time;
  record_changed = true;
  untold_parents.forked_off(parent.record, time, parent.untold_parents);
  // A look at it knows better.
  if (mappings == 0) files = parent.files;
}

// Where nothing was told of its own code, all that it has is its parent's. Else readers know its code by the
// number alone, and it counts as forked off that process.
void ProcessEntry::take_over(ProcessEntry& unnamed, TimeNs attributed) {
  state.generated() = unnamed.state.generated();
  state.memory() = unnamed.state.memory();
  files = unnamed.files;
  if (unnamed.mappings == 0) {
    record.parent = unnamed.record.parent;
    record.forked = unnamed.record.forked;
    untold_parents.take_line(unnamed.untold_parents);
    return;
  }
  record.parent = unnamed.id();
  record.forked = attributed;
  untold_parents.forked_off(unnamed.record, attributed, unnamed.untold_parents);
}

void ProcessEntry::begin_own_records() {
  own_records = true;
  if (record.parent == ProcessId{}) return;
  record.parent = {};
  record.forked = 0;
  record_changed = true;
  untold_parents.forget_line();
  if (mappings == 0) files.clear();
}

// Each agent counts from 0. One that connects again goes on, and sends now what it had ready.
void ProcessEntry::begin_counts() {
  if (counting_instance != agent_instance) {
    counting_instance = agent_instance;
    dropped_before = accounting.agent_dropped;
    unsent_before = accounting.agent_unsent;
  }
  if (std::exchange(accounting.agent_unsent, unsent_before) != unsent_before) accounting_changed = true;
}

ProcessEntry& ProcessTable::get(ProcessId id, TimeNs since) {
  if (ProcessEntry* known = find(id)) return *known;
  const auto found = by_pid_.find(id.pid);
  if (found == by_pid_.end() || found->second.empty()) return insert(id, kTimeMin);
  ProcessEntry& last = *found->second.back();
  TimeNs from = since;
  if (last.ended != kTimeMax) {
    from = last.ended;
  } else if (last.id().start == 0) {
    from = last.since;
    last.ended = last.since;  // what it was given so far stays with it
    ProcessEntry& same = insert(id, from);
    same.take_over(last, attributed_);
    return same;
  } else {
    last.ended = since;
  }
  return insert(id, from);
}

ProcessEntry* ProcessTable::find(ProcessId id) {
  const auto found = by_pid_.find(id.pid);
  if (found == by_pid_.end()) return nullptr;
  for (auto& entry : found->second) {
    if (entry->id() == id && (id.start != 0 || entry->ended == kTimeMax)) return entry.get();
  }
  return nullptr;
}

ProcessEntry* ProcessTable::search(std::int32_t pid, TimeNs time) {
  if (last_ == nullptr || last_pid_ != pid) {
    const auto found = by_pid_.find(pid);
    if (found == by_pid_.end()) return nullptr;
    last_ = &found->second;
    last_pid_ = pid;
  }
  for (auto entry = last_->rbegin(); entry != last_->rend(); ++entry) {
    if ((*entry)->since <= time) return entry->get();
  }
  return last_->front().get();
}

ProcessEntry* ProcessTable::add_unnamed(std::int32_t pid, TimeNs since) {
  if (size_ >= kMaxProcesses) return nullptr;
  if (ProcessEntry* last = at(pid, kTimeMax); last != nullptr && last->ended == kTimeMax) last->ended = since;
  return &insert({pid, 0}, since);
}

// A process may have mapped so much that to forget several at once would hold up all others.
void ProcessTable::free_some() {
  for (std::size_t freed = 0; freed < kMostFreed && !gone_.empty(); gone_.pop_back())
    freed += size_of(*gone_.back());
}

std::size_t ProcessTable::trim(TimeNs watermark) {
  last_ = nullptr;
  const std::size_t before = size_;
  for (auto it = by_pid_.begin(); it != by_pid_.end();) {
    for (auto& entry : it->second) {
      if (gone_at(*entry) > watermark || entry->connection != 0 || entry->accounting_changed) continue;
      profile::add(forgotten_, entry->accounting);
      gone_.push_back(std::move(entry));
      --size_;
    }
    std::erase(it->second, nullptr);
    it = it->second.empty() ? by_pid_.erase(it) : std::next(it);
  }
  free_some();
  return before - size_;
}

ProcessEntry& ProcessTable::insert(ProcessId id, TimeNs since) {
  Entries& entries = by_pid_[id.pid];
  ++size_;
  ProcessEntry& entry = *entries.emplace_back(std::make_unique<ProcessEntry>(id, since, limits_, budgets_));
  entry.number = ++entries_;
  return entry;
}

}  // namespace tailor::pipeline
