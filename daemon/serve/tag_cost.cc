#include "daemon/serve/tag_cost.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/query/sums/interval.h"
#include "daemon/serve/fingerprint.h"
#include "daemon/serve/short_text.h"

namespace tailor::serve {
namespace {

constexpr std::size_t kLongestName = 256;  // bytes

// Of independent means: the relative variance of a ratio, and its degrees of freedom by Welch and
// Satterthwaite.
class RelativeVariance {
 public:
  // `variance`: relative, found from this number of groups, two at least.
  void add(double variance, double groups) {
    sum_ += variance;
    uncertain_ += variance * variance / (groups - 1);
  }
  void set_interval(TagCost& out) const {
    const double degrees = uncertain_ > 0 ? sum_ * sum_ / uncertain_ : 1;
    const double error = query::student95(degrees) * std::sqrt(sum_);
    out.low = out.ratio * std::exp(-error);
    out.high = out.ratio * std::exp(error);
    out.is_known = true;
  }

 private:
  double sum_ = 0, uncertain_ = 0;
};

query::Json side_json(const CostSample& side) {
  return {{"executions", side.executions}, {"cpu_ns_mean", side.mean()}};
}

query::Json cost_json(const TagCost& cost) {
  query::Json out = {{"with", side_json(cost.with)}, {"without", side_json(cost.without)}};
  out["ratio"] = nullptr;
  if (cost.is_known) out["ratio"] = {{"value", cost.ratio}, {"low", cost.low}, {"high", cost.high}};
  return out;
}

}  // namespace

void CostSample::add(double cost, std::uint64_t count) {
  const auto many = static_cast<double>(count);
  profile::add_bounded(executions, count);
  sum += cost;
  squares += cost * cost;
  group_squares += many * many;
  products += cost * many;
}

void CostSample::add_free(std::uint64_t count) {
  profile::add_bounded(executions, count);
  group_squares += static_cast<double>(count);
}

double CostSample::groups() const {
  const auto all = static_cast<double>(executions);
  return group_squares > 0 ? all * all / group_squares : 0;
}

double CostSample::variance() const {
  const auto all = static_cast<double>(executions);
  const double each = mean(), n = groups();
  const double left = squares - 2 * each * products + each * each * group_squares;
  return std::max(0.0, left) * n / (n - 1) / (all * all);
}

TagCost tag_cost(const CostSample& with, const CostSample& without) {
  TagCost out{with, without};
  if (!(std::min(with.groups(), without.groups()) >= TagCosts::kLeastGroups)) return out;
  if (with.sum <= 0 || without.sum <= 0) return out;
  out.ratio = with.mean() / without.mean();
  RelativeVariance variance;
  for (const CostSample& side : {with, without})
    variance.add(side.variance() / (side.mean() * side.mean()), side.groups());
  variance.set_interval(out);
  return out;
}

void TagCosts::add(const store::ExecutionRow& row) {
  // An engine that promised to add up runs, and did not say how many, stands for a number that is not known.
  const bool is_known = !profile::adds_up_runs(row.record) || row.record.added != nullptr;
  const std::uint64_t runs = profile::runs_of(row.record);
  if (row.record.end == kTimeMax || !row.record.drawn || !is_known || runs == 0) {
    ++not_counted_;
    return;
  }
  const std::string fingerprint = fingerprint_of(row);
  if (queries_.size() >= kMostQueries && !queries_.contains(fingerprint)) {
    ++left_out_;
    return;
  }
  Query& query = queries_[fingerprint];
  if (query.name.empty()) query.name = short_text(row.plan_name, kLongestName);
  CostSample& side = row.record.tags_off ? query.without : query.with;
  // Those without a sample that the store added up were drawn one by one all the same.
  if (row.cost.samples == 0 && profile::is_sum_of_unsampled(row.record)) return side.add_free(runs);
  side.add(row.cost.cpu_ns, runs);
}

// Stratified: a query that is expensive, or has more executions without tags by chance, moves nothing.
TagCost TagCosts::of_all() const {
  TagCost out;
  double with = 0, without = 0;
  std::vector<const Query*> known;
  for (const auto& [fingerprint, query] : queries_) {
    if (!tag_cost(query.with, query.without).is_known) continue;
    known.push_back(&query);
    profile::add_bounded(out.with.executions, query.with.executions);
    profile::add_bounded(out.without.executions, query.without.executions);
    with += query.executions() * query.with.mean();
    without += query.executions() * query.without.mean();
  }
  if (with <= 0 || without <= 0) return out;
  RelativeVariance variance;
  for (const Query* query : known) {
    const double squared = query->executions() * query->executions();
    variance.add(squared * query->with.variance() / (with * with), query->with.groups());
    variance.add(squared * query->without.variance() / (without * without), query->without.groups());
  }
  const auto all = static_cast<double>(out.with.executions) + static_cast<double>(out.without.executions);
  out.with.sum = with / all * static_cast<double>(out.with.executions);
  out.without.sum = without / all * static_cast<double>(out.without.executions);
  out.ratio = with / without;
  variance.set_interval(out);
  return out;
}

query::Json TagCosts::json(std::size_t limit) const {
  std::vector<std::pair<double, const std::pair<const std::string, Query>*>> order;
  std::uint64_t untagged = 0;
  for (const auto& each : queries_) {
    profile::add_bounded(untagged, each.second.without.executions);
    order.emplace_back(each.second.with.sum + each.second.without.sum, &each);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  query::Json out = cost_json(of_all());
  out["executions_without_tags"] = untagged;
  out["executions_left_out"] = left_out_;
  out["executions_not_counted"] = not_counted_;
  out["queries"] = query::Json::array();
  for (std::size_t i = 0; i < order.size() && i < limit; ++i) {
    const auto& [fingerprint, query] = *order[i].second;
    query::Json item = {{"fingerprint", fingerprint}, {"name", query.name}};
    item.update(cost_json(tag_cost(query.with, query.without)));
    out["queries"].push_back(std::move(item));
  }
  return out;
}

}  // namespace tailor::serve
