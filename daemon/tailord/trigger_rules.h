// When processes are sampled at another rate, or with more in each sample, for a while, by the configuration:
// [[triggers.raise]].
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proto/base/ids.h"

namespace tailor::tailord {

// How a process is sampled while a trigger holds. What is not asked for is as the daemon's options say.
struct Raise {
  std::uint64_t frequency = 0;  // samples per second of CPU time; 0: as before
  bool callchain = false;       // each sample brings its call chain
  bool memory = false;          // and registers, for the data addresses of instructions
  auto operator<=>(const Raise&) const = default;
};

struct TriggerRule {
  std::string name;  // for people; not empty
  // All that are given must hold of an execution. At least one is.
  std::string process;                     // of its process: the engine's name, or the command's
  std::string fingerprint;                 // of its query
  std::string execution = {};              // its id begins with these digits
  std::string label_key;                   // it has a label of this name ...
  std::optional<std::string> label_value;  // ... with this value, or with any
  std::optional<double> slower_than_usual =
      {};  // it runs for this multiple of the usual time of its fingerprint
  // One of its threads was off the CPU for so long at a time, and waited for something. Where `wait` is
  // empty: for a lock, or for what its engine has a name for. Else for this: a key of query::wait_key(), the
  // engine's name ("Lock:transactionid"), or the part of it before the colon.
  std::optional<TimeNs> wait_longer_than = {};
  std::string wait = {};
  // More threads of the host than this run or wait for a CPU (run_queue.h).
  std::optional<double> run_queue_above = {};

  Raise raise = {};                    // then its process is sampled so
  TimeNs lasts = 30'000'000'000;       // for so long
  TimeNs cool_down = 300'000'000'000;  // and not again by this rule for so long afterwards
  TimeNs budget = 600'000'000'000;     // and all processes together for no longer than so long in an hour

  bool operator==(const TriggerRule&) const = default;
};

using TriggerRules = std::vector<TriggerRule>;

}  // namespace tailor::tailord
