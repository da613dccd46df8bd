#include "daemon/query/reports/scale.h"

#include <algorithm>

namespace tailor::query {

Scale::Scale(const Cell& total, double idle) : Scale(total, idle, WholeSpread{}, 0) {}

Scale::Scale(const Cell& total, double idle, const WholeSpread& spread, double average)
    : total_(total.weight), sampled_(total.weight - idle), spread_(spread) {
  independent_ = total.weight_squares > 0 ? sampled_ * sampled_ / total.weight_squares : 0;
  effective_ = spread.all_drawn() ? independent_ : average;
}

Share95 Scale::operator()(const Amount& amount, const std::optional<RowSpread>& spread) const {
  const double samples =
      spread ? query::effective_samples(spread_, sampled_, independent_, *spread, effective_) : effective_;
  const double share = total_ > 0 ? amount.weight / total_ : 0;
  if (sampled_ == total_) return {amount, share, wilson(share, samples), spread};
  // Differences of large numbers are not exact.
  const double of_worked = sampled_ > 0 ? std::min(1.0, amount.weight / sampled_) : 0;
  const Interval of_sampled = wilson(of_worked, samples);
  const double part = total_ > 0 ? sampled_ / total_ : 0;
  return {amount, share, {of_sampled.low * part, of_sampled.high * part}, spread};
}

}  // namespace tailor::query
