// On which CPUs the timers run: those where recorded threads run, and no others for long.
//
// The program says of each CPU how many samples it took of recorded processes there, and, where we told it
// that the timer is off or about to be, that a recorded thread came. From that follows, for each CPU:
//
//   off ---a thread came---> on ---no sample for a while---> leaving ---none, and no thread came---> off
//                             ^------- a sample, or a thread came -------'
//
// A CPU that is being left still has its timer, and the program already watches: a thread that was there all
// the time is hit by the timer, one that comes is seen. A CPU that is needed again soon after it was left
// keeps its timer for longer from then on.
#pragma once

#include <cstdint>
#include <map>

#include "proto/base/ids.h"

namespace tailor::bpf {

// What the program says of a CPU.
struct CpuSeen {
  std::uint64_t hits = 0;  // samples of recorded processes, so far
  bool wanted = false;     // a recorded thread came there
};

struct CpuTask {
  bool timer = false;    // is to run
  bool watched = false;  // the program is to say when a recorded thread comes
  bool operator==(const CpuTask&) const = default;
};

// Pure; one thread.
class CpuPlacement {
 public:
  // `period`: the longest time between two samples of a CPU, ns.
  explicit CpuPlacement(TimeNs period);

  // What to do with a CPU, looked at now and then; at first its timer is off.
  CpuTask look(int cpu, TimeNs now, const CpuSeen& seen);
  // How many timers run.
  std::size_t running() const;

 private:
  enum class State : std::uint8_t { kOff, kOn, kLeaving };
  struct Cpu {
    State state = State::kOff;
    TimeNs since = kTimeMin;  // of the last sample; while leaving or off, when that began
    TimeNs patience;          // without a sample, before it is left
    std::uint64_t hits = 0;
  };

  void begin(Cpu& cpu, TimeNs now);

  TimeNs least_patience_, settle_;
  std::map<int, Cpu> cpus_;
};

}  // namespace tailor::bpf
