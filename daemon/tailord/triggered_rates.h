// What triggers ask of the recorder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/session/rate_changes.h"
#include "daemon/tailord/options.h"
#include "daemon/tailord/run_queue.h"
#include "daemon/tailord/triggers.h"
#include "proto/base/result.h"

namespace tailor::tailord {

// Rates by what rules ask for.
using PreparedRates = std::map<Raise, session::Rate>;

// Those that the rules of `options` ask for. Any thread. Fails, naming the trigger, where one cannot be had
// (rate_of()), where there are too many different ones, and where a rule asks for waits that `usual` does not
// record.
Result<PreparedRates> prepare_rates(os::Os& os, const Options& options, const capture::CaptureOptions& usual);

// One thread, the recorder's control thread once that runs.
class TriggeredRates {
 public:
  // `proc`: where /proc is mounted.
  explicit TriggeredRates(const std::filesystem::path& proc) : run_queue_(proc) {}

  void set(TriggerRules rules, PreparedRates rates);
  // As session::AskRates.
  std::vector<session::RateAsked> take(TimeNs now, const std::function<bool(ProcessId)>& may_raise);

  // To be given what the pipeline gives.
  Triggers& triggers() { return triggers_; }

 private:
  Triggers triggers_;
  RunQueue run_queue_;  // looked at where a rule asks for it
  PreparedRates rates_;
};

}  // namespace tailor::tailord
