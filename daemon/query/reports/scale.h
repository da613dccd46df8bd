// Costs as shares of a whole, with their intervals.
#pragma once

#include <optional>

#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/execution_spread.h"
#include "daemon/query/sums/interval.h"
#include "daemon/query/sums/skew.h"

namespace tailor::query {

// A cost as a share of a whole: of a plan's own time within a plan (unless Selection::base says otherwise),
// of the report's total elsewhere.
struct Share95 {
  Amount amount;
  double share = 0;   // of the whole's weight, 0 to 1
  Interval interval;  // 95 %, see wilson()
  // How executions differ in it, where only a share of them is sampled. Nothing: they are as in other rows.
  std::optional<RowSpread> spread = {};
  // Of operators, pipelines and the rows of a level, where weights are elapsed time; else none.
  std::optional<Skew> skew = {};
};

// Of a row of everything, or of a part of it; nothing where all executions are drawn. Those of a plan may be,
// and not those of the plans that it is united with (same_plans.h).
template <typename Spreads, typename Key>
std::optional<RowSpread> spread_in(const WholeSpread& everything, const Spreads& spreads, const Key& key) {
  if (everything.all_drawn()) return std::nullopt;
  const auto found = spreads.find(key);
  return found == spreads.end() ? RowSpread{} : found->second;
}

// Turns sums into shares of a whole.
class Scale {
 public:
  // `idle`: what of the total's weight no sample stands for. It widens no interval.
  explicit Scale(const Cell& total, double idle = 0);
  // `average`: effective samples of the whole (execution_spread.h), where not all executions are drawn.
  Scale(const Cell& total, double idle, const WholeSpread& spread, double average);
  double effective_samples() const { return effective_; }
  // Of a sample, on average, in independent ones. Below 1 where not all executions are drawn.
  double sample_worth() const { return independent_ > 0 ? effective_ / independent_ : 1; }
  Share95 operator()(const Amount& amount, const std::optional<RowSpread>& spread = std::nullopt) const;

 private:
  double total_, sampled_;  // sampled_: of the total, what samples stand for
  double independent_, effective_;
  WholeSpread spread_;
};

}  // namespace tailor::query
