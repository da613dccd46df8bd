// The perf events that the program samples at: one of each source on each CPU, with a period of its own that
// is drawn anew now and then (capture/select/jitter.h).
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
  void run(int cpu, bool runs);
  // Those that run and are due get new periods. Where an event cannot be had the old one stays.
  void redraw(TimeNs now);

 private:
  // An event that runs without the program.
  struct Next {
    UniqueFd fd;
    std::uint64_t ready = 0;  // when it has counted so much
  };
  struct Event {
    Attached attached;
    TimeNs drawn = 0;
    std::optional<Next> next;  // what replaces it
  };
  struct Cpu {
    bool runs = false;
    std::vector<Event> events;  // by source
  };

  struct Drawn {
    UniqueFd fd;
    std::uint64_t period = 0;
  };

  Result<Drawn> open_one(std::size_t source, int cpu);
  void begin_next(Event& event, std::size_t source, int cpu, TimeNs now);
  void finish_next(Event& event, std::size_t source, TimeNs now);
  // With the program; where that fails the old one stays.
  void replace(Event& event, std::size_t source, UniqueFd fd);
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
