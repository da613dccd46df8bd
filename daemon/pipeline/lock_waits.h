// Who holds the locks that executions wait for, as processes of their engines see it.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>

#include "daemon/pipeline/process_table.h"
#include "proto/base/ids.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::pipeline {

// The processes of engines, by the pids that they themselves have. One thread; the table must outlive it.
class LockWaits {
 public:
  explicit LockWaits(ProcessTable& table) : table_(table) {}

  // The process has that pid in its own namespace, as its agent says.
  void met(const ProcessEntry& entry, std::uint32_t engine_pid);
  // `watcher` says at `time` who waits for whom, since `since` by the daemon's clock. It is noted in the
  // execution for which the process that waits worked then, by the marks in its log. Nothing is noted where
  // that is not sure: where the marks of then are not read yet, where none was open, or where a process is
  // not known. Gives the execution if its record, which has what was seen so far, is to be told again; else
  // NULL.
  RunningExecution* take(const ProcessEntry& watcher, TimeNs time, TimeNs since, const v1::Blocked& said);

 private:
  struct Key {
    std::uint32_t uid = 0, pid = 0;
    auto operator<=>(const Key&) const = default;
  };
  // The process of the watcher's engine with that pid, NULL: none that is known, or several.
  ProcessEntry* find(const ProcessEntry& watcher, std::uint32_t pid);
  void forget_those_gone(std::set<ProcessId>& ids);
  void forget_those_gone();

  static constexpr std::size_t kMostOfOnePid = 64;  // others are not known

  ProcessTable& table_;
  std::map<Key, std::set<ProcessId>> processes_;
  std::size_t forget_at_ = 1024;  // keys
};

// Puts the blockers that were seen into the record of the execution, which is about to be told as ended.
void end_blockers(RunningExecution& execution);

}  // namespace tailor::pipeline
