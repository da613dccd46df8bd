// Which processes are not sampled because somebody asked for that, and since when.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "daemon/profile/records.h"
#include "proto/base/ids.h"

namespace tailor::session {

// One thread.
class Pauses {
 public:
  // Over ones that the list keeps: every profile carries them.
  static constexpr std::size_t kMostOver = 256;

  // All processes: those that register later too.
  void set_all(bool all) { all_ = all; }
  bool all() const { return all_; }

  bool is_paused(ProcessId process) const { return paused_.contains(process); }
  // One that is paused already stays so.
  void begin(ProcessId process, TimeNs from);
  // One that is not paused is left alone.
  void end(ProcessId process, TimeNs to);

  // In the order of their begin: all that go on, and the newest of the others.
  const std::vector<profile::Pause>& list() const { return list_; }
  // How long a process was paused up to `now`, as far as the list knows.
  std::uint64_t ns_of(ProcessId process, TimeNs now) const;
  // Since when it is; kTimeMax: it is not.
  TimeNs since(ProcessId process) const;

 private:
  bool all_ = false;
  std::set<ProcessId> paused_;
  std::vector<profile::Pause> list_;
};

}  // namespace tailor::session
