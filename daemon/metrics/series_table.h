// Sums by labels with a bound on how many there are: the heaviest have series of their own, the rest is
// "other", and the whole is always the sum of all that was added.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace tailor::metrics {

using LabelValues = std::vector<std::string>;

// One thread. Series are for counters: none ever falls while it is there.
class SeriesTable {
 public:
  using Clock = std::chrono::steady_clock;
  struct Options {
    std::size_t most = 200;         // series besides "other" and "retired"
    double least_share = 0.001;     // of all that was added: who has less stays in "other"
    std::chrono::minutes idle{60};  // a series that did not grow for so long gives its place up
  };

  SeriesTable(std::size_t labels, Options options) : labels_(labels), options_(options) {}

  void add(const LabelValues& labels, double amount, Clock::time_point now);

  // Every series; the last two are "other" (too small, or no place was free) and "retired" (had a series
  // once).
  std::vector<std::pair<LabelValues, double>> read() const;
  double sum() const { return sum_; }

 private:
  struct Series {
    double value = 0;
    Clock::time_point grew;
  };
  bool make_room(Clock::time_point now);

  const std::size_t labels_;
  const Options options_;
  double sum_ = 0, other_ = 0, retired_ = 0;
  std::map<LabelValues, Series> series_;
  // What those in "other" have had: when one of them weighs enough, what it has from then on is its own
  // series.
  std::map<LabelValues, double> small_;
  static constexpr std::size_t kMostSmall = 10'000;
};

}  // namespace tailor::metrics
