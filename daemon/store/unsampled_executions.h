// Executions that no sample names, added up by query: a store need not have a row for each of a thousand
// statements a second that nothing is known of but how long they took.
//
// An execution is held back until a sample names it, or until none can. Then it becomes a part of a sum
// (profile/added_runs.h) of its process, its plan and its labels. Labels of a distributed trace name a single
// execution, so sums leave them out. The record of a sum is that of its first execution; each run counts.
//
// These stay as they are: executions that took long, failed, work for another one or have such workers,
// waited for a lock or held one that another execution waited for, are not drawn, ran without tags, were told
// late, or are sums already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/profile/records.h"
#include "daemon/store/elapsed_buckets.h"
#include "proto/base/ids.h"

namespace tailor::store {

// One thread.
class UnsampledExecutions {
 public:
  // One that took longer is no part of a sum, and one that runs for longer is held back no longer.
  static constexpr TimeNs kLongest = 1'000'000'000;
  // A sample of a thread that is late to notice the end may name an execution for so long behind its end.
  static constexpr TimeNs kGrace = 1'000'000'000;
  // Sums are given out so often, and where they are as many, or take as much memory.
  static constexpr TimeNs kInterval = 10'000'000'000;
  // One that is told later than this behind its begin may have samples that do not name it: reports look for
  // them by its begin and its end (query/load/late_plans.h).
  static constexpr TimeNs kToldLate = 1'000'000'000;
  static constexpr std::size_t kMostSums = 4096, kMostSumBytes = std::size_t{16} << 20;
  // What is held back. Beyond that everything is given at once.
  static constexpr std::size_t kMostHeld = 65'536, kMostHeldBytes = std::size_t{64} << 20;
  // Executions that others name and that are not held back, of each interval.
  static constexpr std::size_t kMostNamed = 4096;

  // Executions that are to be kept go to `give`, which must not call back.
  using Give = std::function<void(const profile::ExecutionRecord&)>;
  explicit UnsampledExecutions(Give give) : give_(std::move(give)) {}

  // As ProfileSink::on_execution().
  void execution(const profile::ExecutionRecord& record);
  // To be called before these samples are kept: the executions that they name are given.
  void samples(std::span<const profile::SampleRecord> samples);
  // As ProfileSink::on_watermark().
  void watermark(TimeNs watermark);
  // Gives out the sums so far. What is held back stays so.
  void give_sums();
  // Nothing comes any more: everything is given.
  void end();

  // How many executions are held back.
  std::size_t held_back() const { return held_.size(); }

 private:
  using Key = std::pair<ProcessId, ExecutionHandle>;
  using Labels = std::vector<std::pair<std::string, std::string>>;
  using Held = std::map<Key, profile::ExecutionRecord>;
  using SumKey = std::tuple<ProcessId, PlanId, std::optional<std::uint32_t>, Labels>;
  struct Sum {
    profile::ExecutionRecord first;  // that began first
    TimeNs end = kTimeMin;
    std::uint64_t rows = 0;
    bool rows_known = true;
    std::uint64_t runs = 0;
    std::uint64_t elapsed_sum = 0, elapsed_min = UINT64_MAX, elapsed_max = 0;
    ElapsedBuckets buckets;
  };

  void hold(const Key& key, const profile::ExecutionRecord& record);
  profile::ExecutionRecord take(Held::iterator held);
  void give(const Key& key, const profile::ExecutionRecord& record);
  void give_held(Held::iterator held);
  void give_named_by(const profile::ExecutionRecord& record);
  void give_named(const ExecutionId& id);
  bool is_named(const ExecutionId& id) const { return named_.contains(id) || named_before_.contains(id); }
  void add(Held::iterator held);
  void add(profile::ExecutionRecord record, Sum& sum);
  void give_sum(const Labels& labels, const Sum& sum) const;

  Give give_;
  Held held_;
  std::size_t held_bytes_ = 0;
  std::map<ExecutionId, Key> ids_;              // of held_
  std::multimap<TimeNs, Key> due_;              // when it is to be decided; some may be given by then
  std::set<Key> given_;                         // of those that still run
  std::set<ExecutionId> named_, named_before_;  // by others, in this interval and in the one before
  std::map<SumKey, Sum> sums_;
  std::size_t sum_bytes_ = 0;
  TimeNs gave_sums_ = kTimeMin;
};

}  // namespace tailor::store
