#include "daemon/tailord/compactor.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>
#include <vector>

#include "daemon/query/time/wall_time.h"
#include "daemon/serve/stored_sums.h"

namespace tailor::tailord {

Compactor::Compactor(std::string directory, const CompactorOptions& options, store::StoreWriter& writer)
    : directory_(std::move(directory)),
      period_(options.period),
      patience_(options.patience),
      writer_(writer),
      summaries_(directory_, *options.files),
      retention_(options.retention),
      thread_([this] { loop(); }) {}

Compactor::~Compactor() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
  }
  stop_.cancel();
  ended_.notify_all();
  thread_.join();
}

void Compactor::set_retention(const store::SummaryRetention& retention) {
  std::lock_guard lock(mutex_);
  retention_ = retention;
}

void Compactor::loop() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    lock.unlock();
    const bool more = sum_up_some();
    lock.lock();
    if (!more) ended_.wait_for(lock, period_, [this] { return ending_; });
  }
}

store::SummaryRetention Compactor::retention() {
  std::lock_guard lock(mutex_);
  return retention_;
}

Status Compactor::retain() {
  const std::uint64_t now = query::wall_clock_ns();
  const Status retained = summaries_.retain(retention(), now, stop_);
  if (retained && !stop_.stopped()) retained_hour_ = now / store::kHourNs;
  return retained;
}

bool Compactor::sum_up_some() {
  const auto due = writer_.due_for_summary();
  if (!due || due->empty()) {
    // Summaries grow old where no new ones come, too.
    const bool is_time = query::wall_clock_ns() / store::kHourNs != retained_hour_;
    const Status retained = is_time ? retain() : Status(Ok{});
    tell(retained ? "" : retained.error().message);
    return false;
  }
  const auto last = serve::sum_up(directory_, *due, summaries_, retention(), stop_);
  if (stop_.stopped()) return false;
  if (!last) {
    failed(last.error().message);
    return false;
  }
  failures_ = 0;
  const Status removed = writer_.summed_up(*last);
  spdlog::debug("store: data segments up to {} are summed up", *last);
  Status retained = retain();
  if (retained) retained = removed;
  tell(retained ? "" : retained.error().message);
  return retained.ok();
}

// Samples of which no sums can be made stay for a while. But what is due takes the room of what is new, and
// on a full disk nothing could be written ever again.
void Compactor::failed(const std::string& why) {
  if (++failures_ < patience_) return tell(fmt::format("old samples cannot be summed up, and stay: {}", why));
  const auto removed = writer_.give_up_some(
      [this](std::uint64_t) { return stop_.stopped() ? Status(stop_.error()) : Status(Ok{}); });
  if (stop_.stopped()) return;
  if (!removed) {
    return tell(fmt::format("old samples can neither be summed up ({}) nor deleted ({})", why,
                            removed.error().message));
  }
  const store::GivenUp given_up = writer_.given_up();
  if (failures_ == patience_)
    spdlog::warn("store: no sums can be written ({}): what is due for deletion goes without them", why);
  tell(fmt::format(
      "old samples cannot be summed up: {} ({} samples are deleted without sums, and {} data segments as a "
      "whole)",
      why, given_up.samples, given_up.segments));
}

// The status shows it, and the log when it begins and ends, as other problems of the store.
void Compactor::tell(const std::string& problem) {
  if (problem == problem_) return;
  problem_ = problem;
  writer_.set_summary_problem(problem);
}

}  // namespace tailor::tailord
