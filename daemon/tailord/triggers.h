// Looks at executions as they begin, run and end, and says when a rule of the configuration holds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/profile/ignoring_sink.h"
#include "daemon/tailord/past_runs.h"
#include "daemon/tailord/recently_used.h"
#include "daemon/tailord/trigger_rules.h"
#include "daemon/tailord/usual_time.h"

namespace tailor::tailord {

// What became of a rule so far.
struct TriggerCounts {
  std::string name;
  std::uint64_t fired = 0;  // rates that were raised
  // It held, but the process had a rate of its own, or the rule was cooling down or beyond its budget.
  std::uint64_t skipped = 0;
};

// One thread. Memory and work are bounded, whatever engines say.
class Triggers : public profile::IgnoringSink {
 public:
  static constexpr std::size_t kMostRunning = 8'192;       // executions that are looked at, at a time
  static constexpr std::size_t kMostFingerprints = 4'096;  // whose usual time is known
  static constexpr std::size_t kMostPlans = 65'536;        // whose fingerprint is known
  static constexpr std::size_t kMostProcesses = 16'384;    // whose names are known
  static constexpr std::size_t kMostCoolDowns = 16'384;    // rules that cool down, by process
  static constexpr std::size_t kMostWaiting = 16'384;      // executions whose waits are looked at

  // Other rules from now on. What is known of queries stays.
  void set(TriggerRules rules);
  // Runs of before, the newest first, count for the usual times of their queries. Those that end once a rule
  // has asked for usual times are counted as they end: `runs` has none of these.
  void know(std::span<const PastRun> runs);

  struct Fired {
    ProcessId process;
    Raise raise;
    TimeNs lasts = 0;
    std::string why;
  };
  // Those that hold since the last call, one of a process at most. `may_raise`: the process is sampled, and
  // has no rate of its own. `run_queue`: RunQueue::average(); for asks_run_queue() only.
  std::vector<Fired> take(TimeNs now, const std::function<bool(ProcessId)>& may_raise,
                          std::optional<double> run_queue = {});
  bool asks_run_queue() const { return asks_run_queue_; }

  const std::vector<TriggerCounts>& counts() const { return counts_; }

  void on_recording(const profile::RecordingInfo& info) override;
  void on_process(const profile::ProcessRecord& process) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;

 private:
  using Run = std::pair<ProcessId, ExecutionHandle>;
  // An execution for which a rule holds from `at` on, unless it ends before.
  struct Due {
    TimeNs at = 0;
    Run run;
    std::size_t rule = 0;
    TimeNs usual = 0;       // 0: the rule does not ask for it
    std::string wait = {};  // how long it waited, and for what; empty: the same
    auto operator<=>(const Due&) const = default;
  };
  struct Running {
    std::string fingerprint;  // "": nothing is known of its query
    TimeNs begin = 0;
    bool is_sum = false;    // its engine adds up runs: how long it takes says nothing of one
    std::vector<Due> dues;  // that hold later
  };

  void begin(const profile::ExecutionRecord& execution);
  void end(const profile::ExecutionRecord& execution);
  std::string fingerprint_of(const profile::ExecutionRecord& execution);
  bool matches(const TriggerRule& rule, const profile::ExecutionRecord& execution,
               const std::string& fingerprint);
  std::optional<TimeNs> usual_time(const std::string& fingerprint, TimeNs now);
  void look_at_wait(const profile::SampleRecord& sample);
  bool is_long(const TriggerRule& rule, const profile::SampleRecord& sample) const;
  // "": the engine has no name for it.
  std::string_view name_of_wait(const profile::SampleRecord& sample) const;
  std::string wait_text(const profile::SampleRecord& sample) const;
  // Whether the rule must wait for a longer run queue; then it does so, if the execution runs.
  bool hold(const Due& due, std::optional<double> run_queue);
  void release(std::optional<double> run_queue);
  std::string why(const Due& due, std::optional<double> run_queue) const;
  // Whether the rule may raise a rate once more in this hour.
  bool affords(const TriggerRule& rule, TimeNs now);

  TriggerRules rules_;
  std::vector<TriggerCounts> counts_;  // by rule
  // When it raised rates in the last hour, and for how long, by rule's name: no more than the budget allows.
  std::map<std::string, std::deque<std::pair<TimeNs, TimeNs>>> spent_;
  std::map<Run, Running> running_;
  std::set<Due> due_;
  // Executions of which all holds but the run queue, by rule.
  std::map<std::size_t, std::map<Run, Due>> held_;
  // Rules that hold once one of them waits for long, by execution. It may have ended: its last samples come
  // later.
  RecentlyUsed<Run, std::vector<std::size_t>> waiting_{kMostWaiting};
  bool asks_waits_ = false, asks_run_queue_ = false;
  bool counts_runs_ = false;         // for usual times: from the first rule on that asked for them
  std::set<std::uint16_t> off_cpu_;  // sources that tell of waits
  std::vector<std::string> wait_names_;
  RecentlyUsed<ProcessId, std::array<std::string, 2>> names_{kMostProcesses};  // of the engine, the command
  RecentlyUsed<std::pair<ProcessId, PlanId>, std::string> plans_{kMostPlans};  // fingerprints
  RecentlyUsed<std::string, UsualTime> usual_{kMostFingerprints};
  RecentlyUsed<std::pair<std::string, ProcessId>, TimeNs> cool_until_{kMostCoolDowns};  // by rule's name
};

}  // namespace tailor::tailord
