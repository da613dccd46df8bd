// The perf events that the program samples at: one of each source on each CPU, with a period of its own that
// is drawn anew now and then (capture/select/jitter.h).
#pragma once

#include <functional>
#include <map>
#include <memory>
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
  // Attaches the program to an event of source `source` and starts it. Takes the descriptor.
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
  struct Event {
    Attached attached;
    TimeNs drawn = 0;
  };
  struct Cpu {
    bool runs = false;
    std::vector<Event> events;  // by source
  };

  Result<Event> open_one(std::size_t source, int cpu, TimeNs now);

  os::Os& os_;
  std::vector<capture::EventSpec> events_;
  std::vector<perf_event_attr> attrs_;
  bool jitter_;
  Attach attach_;
  capture::PeriodDraw draw_;
  std::map<int, Cpu> cpus_;
};

}  // namespace tailor::bpf
