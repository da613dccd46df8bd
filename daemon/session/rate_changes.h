// Samples processes at the rates that were asked for while they are sampled, and goes back when their time is
// over. Every sample carries its own weight, so sums stay right across a change.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/os/os.h"
#include "daemon/session/on_problem.h"
#include "daemon/session/process_sampling.h"
#include "daemon/session/rate_spans.h"
#include "daemon/session/rates.h"
#include "daemon/session/recording_facts.h"
#include "daemon/session/sampled_processes.h"
#include "daemon/session/sampling_changes.h"
#include "proto/base/result.h"

namespace tailor::session {

// A rate for a process that is sampled, and has none of its own.
struct RateAsked {
  ProcessId process;
  Rate rate;
};
// Asked at every turn, on the control thread. `may_raise`: whether a rate may be asked for that process.
using AskRates =
    std::function<std::vector<RateAsked>(TimeNs now, const std::function<bool(ProcessId)>& may_raise)>;

struct RatesChanged {
  std::vector<ProcessId> processes;   // that are sampled as asked from now on
  std::vector<std::string> problems;  // why others are not
};

// Control thread only.
class RateChanges {
 public:
  // `base`: how processes are sampled where nobody asks for another rate. All must outlive this.
  RateChanges(os::Os& os, RecordingFacts& facts, const OnProblem& on_problem, SampledProcesses& sampled,
              SamplingChanges& changes, const capture::CaptureOptions& base)
      : os_(os), facts_(facts), on_problem_(on_problem), sampled_(sampled), changes_(changes), base_(base) {}

  // From now on, of the process of that number, or of all (nothing) that have no rate of their own. Fails if
  // the process is not sampled, and beyond the limits of Rates.
  Result<RatesChanged> set(std::optional<std::int32_t> pid, Rate rate);
  // Back to the rate of all, or of the recording. Fails if there is nothing to go back from.
  Result<RatesChanged> reset(std::optional<std::int32_t> pid);

  // At every turn: takes what `ask` asks for, which may be empty.
  void take(const AskRates& ask);
  // At every turn: ends what is over, gives processes that were opened meanwhile their rate, and tries again
  // what failed, seldom.
  void look();
  // The process is not sampled any more, or has ended.
  void forget(ProcessId process);

  const Rates& rates() const { return rates_; }
  const RateSpans& spans() const { return spans_; }

 private:
  Result<ProcessId> find(std::int32_t pid);
  RatesChanged apply(std::optional<ProcessId> whose);
  Status apply(ProcessSampling& sampled, bool& changed);

  os::Os& os_;
  RecordingFacts& facts_;
  const OnProblem& on_problem_;
  SampledProcesses& sampled_;
  SamplingChanges& changes_;
  const capture::CaptureOptions& base_;
  Rates rates_;
  RateSpans spans_;
  std::uint64_t opened_seen_ = 0;
  TimeNs try_again_ = kTimeMax;
};

}  // namespace tailor::session
