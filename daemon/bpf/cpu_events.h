// The perf events that the program samples at: of each source two on each CPU, with periods of their own that
// are drawn anew now and then (capture/select/jitter.h). Their rates are opposite, and they take turns: a
// period that lasts for 250 ms would give an operator that runs for as long half or twice the samples of its
// neighbour. The weights would be right, but the numbers of samples would mislead a reader. The rest of a
// period waits until its event has its turn again. A source whose period is not drawn has one event.
//
// A period cannot be changed: the kernel would tell the first one as the weight of all samples. So an event
// replaces another one. A new event begins with a whole period, and the old one is stopped within one: half a
// period is missing each time. Of many periods that is little. Where the old one had fewer, a new timer runs
// beside it at first, without the program, until it has counted one to two periods. Then it is somewhere
// within a period, as the old one is, and on average nothing is missing. Two counters at a time may be more
// than the CPU has: a counter is replaced when it has counted enough.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "daemon/capture/select/event_spec.h"
#include "daemon/capture/select/jitter.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

namespace tailor::bpf {

// One thread.
class CpuEvents {
 public:
  struct Attached {
    int fd = -1;
    std::shared_ptr<void> owner;  // of the descriptor and the program's link to it; gone: so is the event
  };
  // Attaches the program to an event of source `source` and starts it, if it does not run. Takes the
  // descriptor.
  using Attach = std::function<Result<Attached>(UniqueFd fd, std::size_t source)>;

  // `attrs`: of each source; its sample_period is replaced unless `jitter` is false.
  CpuEvents(os::Os& os, std::vector<capture::EventSpec> events, std::vector<perf_event_attr> attrs,
            bool jitter, Attach attach);

  // Opens the events of all these CPUs; none runs yet. A CPU that is not online is passed over, as long as
  // there is another one. The error is explained.
  Status open(const std::vector<int>& cpus, TimeNs now);

  // Events of the CPU run, or stand still: then what is left of a period waits with them, so that each sample
  // stands for a whole one. A CPU without events is left alone.
  void run(int cpu, bool runs, TimeNs now);
  // Of those that run, the other one takes its turn where it is due, and those that ran for long enough get
  // new periods. Where an event cannot be had the old one stays.
  void redraw(TimeNs now);

 private:
  // An event that runs without the program.
  struct Next {
    UniqueFd fd;
    std::uint64_t ready = 0;  // when it has counted so much
  };
  struct Event {
    Attached attached;
    TimeNs ran = 0;  // in its turns before this one
  };
  // The events of a source on a CPU, that take turns.
  struct Pair {
    std::vector<Event> events;   // one or two
    std::size_t turn = 0;        // whose turn it is
    TimeNs since = 0;            // when this turn began, or went on
    TimeNs turn_ran = 0;         // how long the event had run by then in this turn
    std::uint64_t drawn = 0;     // the period of the event that is replaced next; 0: there is none yet
    std::uint64_t opposite = 0;  // and of the one after it
    std::optional<Next> next;    // what replaces the one whose turn it is
    Event& now() { return events[turn]; }
  };
  struct Cpu {
    bool runs = false;
    std::vector<Pair> pairs;  // by source
  };

  Result<Pair> open_pair(std::size_t source, int cpu, TimeNs now);
  void open_opposites();
  Result<Event> open_attached(std::size_t source, int cpu, std::uint64_t period);
  Result<UniqueFd> open_one(std::size_t source, int cpu, std::uint64_t period);
  void redraw(Pair& pair, std::size_t source, int cpu, TimeNs now);
  std::uint64_t next_period(Pair& pair, const capture::EventSpec& spec);
  void begin_next(Pair& pair, std::size_t source, int cpu);
  void finish_next(Pair& pair, std::size_t source, TimeNs now);
  // With the program; where that fails the old one stays.
  void replace(Pair& pair, std::size_t source, UniqueFd fd);
  void take_turns(Pair& pair, TimeNs now);
  static void begin_turn(Pair& pair, TimeNs now);
  // By an event, in its unit.
  std::uint64_t counted(int fd);

  os::Os& os_;
  std::vector<capture::EventSpec> events_;
  std::vector<perf_event_attr> attrs_;
  bool jitter_;
  Attach attach_;
  capture::PeriodDraw draw_;
  std::map<int, Cpu> cpus_;
};

}  // namespace tailor::bpf
