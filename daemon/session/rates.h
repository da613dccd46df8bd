// Rates that somebody asked for, other than the one that the recording began with. One may bring more with
// each sample: its call chain, or registers for the operands of instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "daemon/capture/select/event_spec.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"

namespace tailor::session {

struct Rate {
  std::uint64_t frequency = 0;  // samples per second of CPU time, on average
  TimeNs until = kTimeMax;      // kTimeMax: until another one is asked for
  std::string why;              // for people
  // The events with periods for that, and what each sample brings; never null.
  std::shared_ptr<const capture::CaptureOptions> capture;
};

// Whether samples have the same sources when each brings its call chain. Perf takes them then, in the order
// of the events. Where BPF takes some of them, these come first.
bool keeps_sources_with_chains(const capture::CaptureOptions& usual);

// One thread.
class Rates {
 public:
  // Each different one has timers of its own, and where BPF samples, a program.
  static constexpr std::size_t kMostRates = 4;
  static constexpr std::size_t kMostProcesses = 256;

  // Of one process, or of all that have none of their own (nothing), also of those that come later. Takes the
  // place of what was asked for before. Fails beyond the limits above, and nothing changes.
  Status set(std::optional<ProcessId> whose, Rate rate);
  // False: there is none.
  bool reset(std::optional<ProcessId> whose);
  // Forgets those whose time is over. Whether there was one.
  bool expire(TimeNs now);

  // Null: the process is sampled as the recording began.
  const Rate* of(ProcessId process) const;
  bool has_own(ProcessId process) const { return own_.contains(process); }
  // That of all; null: there is none.
  const Rate* of_all() const { return all_ ? &*all_ : nullptr; }
  bool empty() const { return !all_ && own_.empty(); }

 private:
  std::optional<Rate> all_;
  std::map<ProcessId, Rate> own_;
};

}  // namespace tailor::session
