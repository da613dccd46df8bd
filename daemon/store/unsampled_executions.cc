#include "daemon/store/unsampled_executions.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <memory>
#include <string_view>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/blockers.h"
#include "daemon/profile/bytes_held.h"
#include "daemon/profile/leader.h"

namespace tailor::store {
namespace {

// Labels that name a single execution.
constexpr std::string_view kOfATrace[] = {"trace_id", "span_id"};

bool may_be_added_up(const profile::ExecutionRecord& record) {
  const bool told_late = record.heard - record.begin >= UnsampledExecutions::kToldLate;
  return record.drawn && !record.tags_off && !told_late && record.error.empty() &&
         record.blockers == nullptr && !profile::adds_up_runs(record) && !profile::leader_of(record);
}

std::uint64_t elapsed_of(const profile::ExecutionRecord& record) {
  return static_cast<std::uint64_t>(std::max<TimeNs>(0, record.end - record.begin));
}

bool is_short(const profile::ExecutionRecord& record) {
  return record.end != kTimeMax &&
         elapsed_of(record) <= static_cast<std::uint64_t>(UnsampledExecutions::kLongest);
}

std::size_t bytes_with(const profile::ExecutionRecord& record) {
  return sizeof record + record.labels.size() * sizeof record.labels.front() + profile::bytes_held(record);
}

std::vector<std::pair<std::string, std::string>> labels_of_query(const profile::ExecutionRecord& record) {
  std::vector<std::pair<std::string, std::string>> labels;
  std::copy_if(record.labels.begin(), record.labels.end(), std::back_inserter(labels), [](const auto& label) {
    return std::find(std::begin(kOfATrace), std::end(kOfATrace), label.first) == std::end(kOfATrace);
  });
  return labels;
}

std::uint64_t capped_sum(std::uint64_t one, std::uint64_t other) {
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  return other > most - one ? most : one + other;
}

}  // namespace

void UnsampledExecutions::execution(const profile::ExecutionRecord& record) {
  give_named_by(record);
  const Key key{record.process, record.handle};
  if (const auto given = given_.find(key); given != given_.end()) {
    if (record.end != kTimeMax) given_.erase(given);
    return give_(record);
  }
  if (const auto held = held_.find(key); held != held_.end()) (void)take(held);  // it is told again
  const bool is_full = held_.size() >= kMostHeld || held_bytes_ >= kMostHeldBytes;
  if (is_full || is_named(record.id) || !may_be_added_up(record)) return give(key, record);
  hold(key, record);
}

void UnsampledExecutions::hold(const Key& key, const profile::ExecutionRecord& record) {
  held_bytes_ += bytes_with(record);
  ids_[record.id] = key;
  due_.emplace(record.begin + kLongest, key);
  held_.emplace(key, record);
}

profile::ExecutionRecord UnsampledExecutions::take(Held::iterator held) {
  auto node = held_.extract(held);
  held_bytes_ -= bytes_with(node.mapped());
  ids_.erase(node.mapped().id);
  return std::move(node.mapped());
}

void UnsampledExecutions::give(const Key& key, const profile::ExecutionRecord& record) {
  if (record.end == kTimeMax) given_.insert(key);
  give_(record);
}

void UnsampledExecutions::give_held(Held::iterator held) {
  const Key key = held->first;
  give(key, take(held));
}

// A report shows workers as a part of their leader, and who held a lock by the query that it ran.
void UnsampledExecutions::give_named_by(const profile::ExecutionRecord& record) {
  if (const auto leader = profile::leader_of(record)) give_named(*leader);
  if (record.blockers == nullptr) return;
  for (const profile::Blocker& each : record.blockers->seen) {
    if (each.execution != ExecutionId{}) give_named(each.execution);
  }
}

// One that is not held back may be heard of later: what two processes say comes in any order.
void UnsampledExecutions::give_named(const ExecutionId& id) {
  const auto known = ids_.find(id);
  const auto held = known == ids_.end() ? held_.end() : held_.find(known->second);
  if (held != held_.end()) return give_held(held);
  if (named_.size() < kMostNamed) named_.insert(id);
}

void UnsampledExecutions::samples(std::span<const profile::SampleRecord> samples) {
  Key last{};
  for (const profile::SampleRecord& sample : samples) {
    if (held_.empty()) return;
    const Key key{sample.process, sample.attribution.execution};
    if (key.second == 0 || key == last) continue;
    last = key;
    if (const auto held = held_.find(key); held != held_.end()) give_held(held);
  }
}

void UnsampledExecutions::watermark(TimeNs watermark) {
  while (!due_.empty() && due_.begin()->first < watermark) {
    const auto due = due_.extract(due_.begin());
    const auto held = held_.find(due.mapped());
    if (held == held_.end()) continue;
    const profile::ExecutionRecord& record = held->second;
    if (record.end == kTimeMax || !is_short(record)) {
      give_held(held);
    } else if (record.end + kGrace >= watermark) {
      due_.emplace(record.end + kGrace, due.mapped());
    } else {
      add(held);
    }
  }
  if (gave_sums_ == kTimeMin) gave_sums_ = watermark;
  if (watermark - gave_sums_ < kInterval) return;
  give_sums();
  gave_sums_ = watermark;
  named_before_ = std::exchange(named_, {});
}

void UnsampledExecutions::add(Held::iterator held) {
  profile::ExecutionRecord record = take(held);
  SumKey key{record.process, record.plan, record.uid, labels_of_query(record)};
  auto found = sums_.find(key);
  if (found == sums_.end()) {
    if (sums_.size() >= kMostSums || sum_bytes_ >= kMostSumBytes) give_sums();
    sum_bytes_ += 2 * bytes_with(record);
    found = sums_.try_emplace(std::move(key)).first;
    found->second.first = record;
  }
  add(std::move(record), found->second);
}

void UnsampledExecutions::add(profile::ExecutionRecord record, Sum& sum) {
  const std::uint64_t elapsed = elapsed_of(record);
  ++sum.runs;
  sum.elapsed_sum = capped_sum(sum.elapsed_sum, elapsed);
  sum.elapsed_min = std::min(sum.elapsed_min, elapsed);
  sum.elapsed_max = std::max(sum.elapsed_max, elapsed);
  sum.buckets.add(elapsed);
  sum.end = std::max(sum.end, record.end);
  sum.rows_known = sum.rows_known && record.rows_known;
  sum.rows = capped_sum(sum.rows, record.rows);
  if (record.begin >= sum.first.begin) return;
  sum_bytes_ += bytes_with(record) - bytes_with(sum.first);  // may be less
  sum.first = std::move(record);
}

void UnsampledExecutions::give_sums() {
  for (const auto& [key, sum] : sums_) give_sum(std::get<Labels>(key), sum);
  sums_.clear();
  sum_bytes_ = 0;
}

// One alone is given as it was.
void UnsampledExecutions::give_sum(const Labels& labels, const Sum& sum) const {
  if (sum.runs == 1) return give_(sum.first);
  profile::ExecutionRecord record = sum.first;
  record.labels = labels;
  record.end = sum.end;
  record.rows_known = sum.rows_known;
  record.rows = sum.rows_known ? sum.rows : 0;
  profile::AddedRuns added;
  added.runs = sum.runs;
  added.elapsed_sum = sum.elapsed_sum;
  added.elapsed_min = sum.elapsed_min;
  added.elapsed_max = sum.elapsed_max;
  added.buckets.assign(sum.buckets.counts().begin(), sum.buckets.counts().end());
  record.added = std::make_shared<const profile::AddedRuns>(std::move(added));
  give_(record);
}

void UnsampledExecutions::end() {
  while (!held_.empty()) {
    const auto held = held_.begin();
    if (is_short(held->second)) {
      add(held);
    } else {
      give_held(held);
    }
  }
  due_.clear();
  give_sums();
}

}  // namespace tailor::store
