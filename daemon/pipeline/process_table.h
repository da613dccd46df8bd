// The processes a pipeline has heard of, and which of them had a pid at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "daemon/pipeline/execution_set.h"
#include "daemon/pipeline/kept_activity.h"
#include "daemon/pipeline/shares.h"
#include "daemon/pipeline/untold_parents.h"
#include "daemon/pipeline/wait_names.h"
#include "daemon/process/file_ranges.h"
#include "daemon/process/process_state.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/sink.h"
#include "daemon/registration/events.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// An execution whose end was not said yet, and what the threads' marks tell of it.
struct RunningExecution {
  profile::ExecutionRecord record;
  std::size_t at_work = 0;                   // threads between their marks
  TimeNs last_mark_end = kTimeMin;           // kTimeMin: no thread has marked an end
  profile::Blockers blockers;                // seen so far
  std::vector<std::uint64_t> blocked_since;  // of each of `blockers.seen`: v1::Blocked.since_tsc
  TimeNs blockers_told = kTimeMin;           // when they were told last; kTimeMin: never
  bool seems_over() const { return at_work == 0 && last_mark_end != kTimeMin; }
};

struct ProcessEntry {
  // What all entries together may know of memory.
  struct Budgets {
    process::MapBudget maps;
    process::FileBudget files;
  };
  ProcessEntry(ProcessId id, TimeNs since, const process::Limits& limits, Budgets& budgets);

  ProcessId id() const { return state.id(); }
  // It was sampled, or spoke, before `time`.
  bool was_there_before(TimeNs time) const {
    return (record.first_seen != 0 && record.first_seen < time) ||
           (record.registered != kTimeMin && record.registered < time);
  }

  // It has what `parent` had at `time`, but where it may have executed a program that no record told of.
  void forked_off(ProcessEntry& parent, TimeNs time);
  // It is the process of which so far only the number was known, and all up to `attributed` was told so.
  void take_over(ProcessEntry& unnamed, TimeNs attributed);
  // Its own events were opened. No ring has its work between its fork and that moment.
  void begin_own_records();

  // The agent of `agent_instance` counts what it dropped and did not send from now on, or goes on to.
  void begin_counts();

  process::ProcessState state;
  profile::ProcessRecord record;
  bool record_changed = true;
  UntoldParents untold_parents;
  profile::Accounting accounting;
  bool accounting_changed = false;
  std::vector<std::uint64_t> samples_by_source;
  TimeNs since;             // samples of its pid from here on are its
  TimeNs ended = kTimeMax;  // nothing of it comes after

  registration::ConnectionId connection = 0;  // 0: no agent is connected
  std::uint32_t uid = 0;                      // of the process when it registered
  std::string agent_instance;                 // Hello.instance
  // Of the agents before this one, which counts from 0; and whose counts those are.
  std::uint64_t dropped_before = 0, unsent_before = 0;
  std::string counting_instance;
  bool resync = false;  // the agent is saying again what is live
  TimeNs resync_since = 0;
  TimeNs settled = kTimeMin;  // everything its agent said up to here has arrived
  std::map<ExecutionHandle, RunningExecution> running;
  ExecutionSet not_drawn, untagged;
  std::set<ExecutionHandle> said_again;
  std::map<std::string, std::uint64_t> refused;  // by limits, see Shares
  std::size_t running_bytes = 0;                 // of their labels
  std::set<std::uint32_t> region_kinds;
  // Kept when its agent stops: samples come behind.
  std::shared_ptr<const EngineWaits> waits;
  std::size_t waits_bytes = 0;
  std::unordered_map<std::int32_t, KeptActivity> kept;  // of its threads' logs
  Shares::Share share;        // of what the daemon may keep; nobody's before it registers
  process::FileRanges files;  // of code, as it has them mapped
  std::size_t mappings = 0;   // told, ends of programs included
  std::uint32_t notices = 0;  // kinds that its agent has said, a bit each
  std::size_t notices_bytes = 0;
  std::size_t foreign_codes = 0;       // of jitdumps and perf maps, told ...
  std::size_t foreign_code_bytes = 0;  // ... and bytes of those that there was no room for
  TimeNs first_mapping = kTimeMin, last_mapping = kTimeMin;  // of those that the kernel told
  TimeNs last_area = kTimeMin;                               // the same of all memory
  bool own_records = false;                                  // what it did before they began was not recorded
  bool looked_first = false;      // nothing else is known of what it had mapped before
  bool look_goes_on = false;      // more of what was seen there is to be told
  TimeNs looked_at = kTimeMin;    // when the last look at all that it has mapped was begun
  bool mappings_ended = false;    // there were too many: the profile says so instead, and `files` is empty
  std::uint32_t areas_told = 0;   // names of process::MemoryArea, a bit each
  std::string started_by;         // the name of state.started_by()
  std::uint64_t number = 0;       // of all entries: another process of the same pid has another one
  std::uint32_t executed = 0;     // programs, as far as the watermark is
  TimeNs executed_at = kTimeMin;  // the last of them
  // Files of such a name that it mapped executable, the last ones.
  static constexpr std::size_t kMostJitdumps = 8;
  std::vector<std::string> jitdumps;
};

// One thread. Entries stay where they are until trim() removes them.
class ProcessTable {
 public:
  explicit ProcessTable(const process::Limits& limits) : limits_(limits) {}

  // The process of that identity; made if new. If its pid was so far known by number only (start 0), the new
  // one takes over from there; else from `since`, or from the end of the process that had the pid before.
  ProcessEntry& get(ProcessId id, TimeNs since);
  // Records and samples of before were taken.
  void attributed(TimeNs watermark) { attributed_ = watermark; }
  ProcessEntry* find(ProcessId id);
  // The process that had `pid` at `time`: of those known, the newest that began by then, else the oldest.
  // NULL if there is none.
  ProcessEntry* at(std::int32_t pid, TimeNs time) {
    // Most samples are of the process of the one before.
    if (last_ != nullptr && last_pid_ == pid && last_->back()->since <= time) return last_->back().get();
    return search(pid, time);
  }
  // A process of which only the number is known. NULL beyond the limit of processes.
  ProcessEntry* add_unnamed(std::int32_t pid, TimeNs since);

  // Forgets processes that ended before `watermark`; returns how many. Frees their memory, or a part of it:
  // the rest when it is called again.
  std::size_t trim(TimeNs watermark);

  template <typename Visit>
  void for_each(Visit visit) {
    for (auto& [pid, entries] : by_pid_) {
      for (auto& entry : entries) visit(*entry);
    }
  }
  std::size_t size() const { return size_; }
  // What the forgotten ones had counted.
  const profile::Accounting& forgotten() const { return forgotten_; }

 private:
  ProcessEntry* search(std::int32_t pid, TimeNs time);

  using Entries = std::vector<std::unique_ptr<ProcessEntry>>;  // of one pid, by `since`
  static constexpr std::size_t kMaxProcesses = 65536;
  static constexpr std::size_t kMostFreed =
      4096;  // at once, in ranges of memory: a millisecond, but for the last process

  ProcessEntry& insert(ProcessId id, TimeNs since);
  void free_some();

  process::Limits limits_;
  ProcessEntry::Budgets budgets_;
  TimeNs attributed_ = kTimeMin;
  std::map<std::int32_t, Entries> by_pid_;
  Entries gone_;  // forgotten, but not freed
  std::size_t size_ = 0;
  std::int32_t last_pid_ = 0;  // of last_, which may be NULL: at() is asked for one process many times
  Entries* last_ = nullptr;
  profile::Accounting forgotten_;
  std::uint64_t entries_ = 0;  // ever made
};

}  // namespace tailor::pipeline
