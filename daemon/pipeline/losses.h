// Records of rings that did not arrive, and time in which none were made. Each loss is counted for the
// process whose ring it is, and said to those that must look again because of it.
#pragma once

#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/decode/throttle_gaps.h"
#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/kernel_code.h"
#include "daemon/pipeline/mappings.h"
#include "daemon/pipeline/problems.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// One thread. Everything passed to the constructor must outlive it.
class Losses {
 public:
  Losses(Accounts& accounts, Mappings& mappings, KernelCode& kernel_code, Problems& problems)
      : accounts_(accounts), mappings_(mappings), kernel_code_(kernel_code), problems_(problems) {}

  // Events of one ring, in the order in which they lie there. Records that are lost among the first of them
  // are newer than `horizon` (kTimeMin: that is not known). `now`: whose number a pid is.
  void take(const capture::RingLayout& layout, const capture::Batch& batch, TimeNs horizon, TimeNs now);
  void ring_closed(capture::RingIndex ring, TimeNs now);
  // The reader of the rings has counted, too. `entry`: the process of the event, NULL: none of ours.
  void capture_ended(const CaptureEnded& event, ProcessEntry* entry);

 private:
  void count(const capture::RingLayout& layout, const capture::Event& event, ProcessEntry* entry);
  void count_gaps(const std::vector<capture::ThrottleGap>& ended, TimeNs now);

  Accounts& accounts_;
  Mappings& mappings_;
  KernelCode& kernel_code_;
  Problems& problems_;
  capture::ThrottleGaps gaps_;
};

}  // namespace tailor::pipeline
