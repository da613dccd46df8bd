// What operators, components and waits have cost so far: the counters behind /metrics.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "daemon/metrics/series_table.h"
#include "daemon/profile/cell_sums.h"
#include "daemon/profile/draw.h"
#include "daemon/profile/ignoring_sink.h"
#include "daemon/query/load/plan_model.h"

namespace tailor::metrics {

// What was added up, in seconds. Every sample of a source that measures time is in exactly one of
// `operators`, `components` and `unattributed`, or in `off_cpu`.
struct MeterReading {
  // fingerprint, query (the plan's name without literals), operator kind, database, user
  std::vector<std::pair<LabelValues, double>> operators;
  std::vector<std::pair<LabelValues, double>> components;    // name
  std::vector<std::pair<LabelValues, double>> unattributed;  // reason
  std::vector<std::pair<LabelValues, double>> off_cpu;       // what was waited for, and the engine's name
  double on_cpu_seconds = 0;                                 // of the first three together
  std::uint64_t executions = 0, failed = 0;                  // that ended; runs that are added up count each
  double execution_seconds = 0;                              // elapsed, of these
  std::uint64_t drawn = 0;  // of the executions that ended: those that were sampled
  double drawn_share = 1;   // of the executions, that is to be sampled
  // Of the executions that ended: those whose elapsed time is not known (profile::is_untimed).
  std::uint64_t untimed = 0;
  // Executions whose plan is another one than that of the execution of the query before: fingerprint, query.
  std::vector<std::pair<LabelValues, double>> plan_changes;
  double on_cpu_variance = 0;  // of on_cpu_seconds, by which executions are drawn; seconds squared
  // What was measured on CPU, nothing of it estimated, by the keys of serve/kind_costs.h.
  std::map<std::string, double> by_kind;
};

// The calls of the sink come from the control thread and cost it an addition per sample and a copy of what is
// news; a thread of the meter's own makes sense of them. read(): any thread.
class OperatorMeter : public profile::IgnoringSink {
 public:
  explicit OperatorMeter(SeriesTable::Options options = {});
  ~OperatorMeter() override;
  OperatorMeter(const OperatorMeter&) = delete;
  OperatorMeter& operator=(const OperatorMeter&) = delete;

  // With everything that the sink was given before the call.
  MeterReading read();

  void on_recording(const profile::RecordingInfo& info) override;
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_shared_plan(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::Plan> plan) override;
  void on_shared_code(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::CodeObject> code) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;

 private:
  struct News {
    std::vector<profile::Source> sources;
    std::optional<profile::DrawnPpm> drawn;  // the share of the executions that is sampled
    std::vector<std::string> wait_names;
    std::vector<std::tuple<ProcessId, std::uint32_t, std::string>> components;
    std::vector<std::pair<ProcessId, v1::Plan>> plans;
    std::vector<std::tuple<ProcessId, CodeId, query::LinkSets>> codes;
    // Large ones, which are not to be held for long.
    std::vector<std::pair<ProcessId, std::shared_ptr<const v1::Plan>>> large_plans;
    std::vector<std::pair<ProcessId, std::shared_ptr<const v1::CodeObject>>> large_codes;
    std::vector<profile::ExecutionRecord> executions;
    std::size_t text_bytes = 0;  // of their labels
  };
  class Books;

  void loop();
  void settle();
  void note_news();  // under news_mutex_
  void note_large();

  std::mutex news_mutex_;  // held for moments only: the control thread takes it
  News news_;
  profile::CellSums sums_;
  std::mutex books_mutex_;
  std::unique_ptr<Books> books_;
  std::condition_variable changed_;
  bool has_news_ = false;  // under news_mutex_, as the next two
  bool has_large_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace tailor::metrics
