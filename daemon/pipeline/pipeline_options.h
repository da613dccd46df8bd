// How a pipeline works.
#pragma once

#include <cstddef>

#include "daemon/process/limits.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

struct PipelineOptions {
  TimeNs delay = 200'000'000;      // how long samples wait for what is said about them
  TimeNs max_lag = 2'000'000'000;  // but never longer than this
  bool all_marks = false;          // every record of the activity logs is kept
  bool slot_states = true;         // a sample's state is believed before the log; false: to compare the two
  std::size_t most_pending = std::size_t{1} << 20;  // events that wait; beyond it the older half leaves early
  process::Limits limits;
};

}  // namespace tailor::pipeline
