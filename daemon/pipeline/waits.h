// Waits off the CPU, on their way to the samples: a wait is one sample when its thread comes back, or when
// nothing is recorded of the thread any more.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/capture/decode/off_cpu.h"
#include "daemon/pipeline/sample_stage.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// One thread; events in the order of time.
class Waits {
 public:
  void recorded(const std::vector<profile::Source>& sources) { tracker_.set_sources(sources); }

  // True: it is the sample of a switch, and is kept until its thread comes back.
  bool keep(const capture::Batch& batch, const capture::Event& sample) {
    return tracker_.absorb(batch, sample);
  }
  void left(const capture::Event& switch_out) { tracker_.left(switch_out); }
  // Gives the wait that is over.
  void returned(const capture::Event& switch_in, SampleStage& to);
  // The thread has ended.
  void ended(const capture::Event& exit) { tracker_.ended(exit); }
  // Waits in that function of the kernel are known by its name.
  void learn(const capture::Event& symbol, std::string_view name) { tracker_.learn(symbol, name); }

  // Nothing of the process is recorded from `time` on; OffCpuTracker::kAllProcesses: of none.
  void cut(std::int32_t pid, TimeNs time) { cuts_.push_back({pid, time}); }
  // Gives the waits that were not over then, where the watermark has got there.
  void give_cut(TimeNs watermark, SampleStage& to);

  const capture::OffCpuTracker& tracker() const { return tracker_; }
  // Waits that no sample has: their threads ended, or left again, without a record of their return.
  std::uint64_t abandoned() const { return tracker_.counts().abandoned; }

 private:
  struct Cut {
    std::int32_t pid = 0;
    TimeNs time = 0;
  };
  capture::OffCpuTracker tracker_;
  std::vector<Cut> cuts_;  // to be made when the watermark gets there
};

}  // namespace tailor::pipeline
