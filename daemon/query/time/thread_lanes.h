// What each thread did by its own marks, and when it was off the CPU.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "proto/base/result.h"

namespace tailor::query {

struct ThreadMark {
  std::string kind;  // "execution", "pipeline", "morsel", "component"
  std::uint64_t id = 0;
  std::string name, key;  // may be hostile; the key as of keys.h, of an execution its id
  TimeNs from = 0;
  TimeNs to = kTimeMax;  // kTimeMax: open when the profile ends
};

struct ThreadWait {
  TimeNs from = 0, to = 0;
  profile::Wait wait = profile::Wait::kNone;
  std::string event;  // what the engine calls it, "" where it has none
  std::string key;    // whose work waited, as of keys.h
};

struct ThreadLane {
  ProcessId process;
  std::int32_t tid = 0;
  std::string name;
  double samples = 0, weight = 0;  // of the selection's source
  std::vector<ThreadMark> marks;   // by begin, the first kMost of marks_total
  std::size_t marks_total = 0;
  std::vector<ThreadWait> waits;  // by begin, the longest kMost
  double off_cpu_ns = 0;          // of all waits
};

struct ThreadReport {
  profile::Source source;
  double samples = 0, weight = 0;
  std::vector<ThreadLane> threads;  // by process and tid
};

inline constexpr std::size_t kMostMarks = 2000;

// The profile must keep samples and activity. Marks and waits that overlap [from, to) and, where the
// selection names executions, the time in which a thread worked for them. Fails if the selection has neither
// samples nor marks.
Result<ThreadReport> thread_report(const Profile& profile, const Selection& selection, TimeNs from, TimeNs to,
                                   const std::function<bool(const TimedSample&)>& keep);

}  // namespace tailor::query
