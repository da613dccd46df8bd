#include "daemon/metrics/series_table.h"

namespace tailor::metrics {

void SeriesTable::add(const LabelValues& labels, double amount, Clock::time_point now) {
  if (!(amount > 0)) return;
  sum_ += amount;
  if (const auto found = series_.find(labels); found != series_.end()) {
    found->second.value += amount;
    found->second.grew = now;
    return;
  }
  if (small_.size() >= kMostSmall && !small_.contains(labels)) small_.clear();
  double& so_far = small_[labels];
  if (so_far + amount >= sum_ * options_.least_share && make_room(now)) {
    small_.erase(labels);
    series_[labels] = {amount, now};
    return;
  }
  so_far += amount;
  other_ += amount;
}

bool SeriesTable::make_room(Clock::time_point now) {
  if (series_.size() < options_.most) return true;
  for (auto at = series_.begin(); at != series_.end(); ++at) {
    if (now - at->second.grew < options_.idle) continue;
    retired_ += at->second.value;
    series_.erase(at);
    return true;
  }
  return false;
}

std::vector<std::pair<LabelValues, double>> SeriesTable::read() const {
  std::vector<std::pair<LabelValues, double>> all;
  for (const auto& [labels, series] : series_) all.emplace_back(labels, series.value);
  all.emplace_back(LabelValues(labels_, "other"), other_);
  all.emplace_back(LabelValues(labels_, "retired"), retired_);
  return all;
}

}  // namespace tailor::metrics
