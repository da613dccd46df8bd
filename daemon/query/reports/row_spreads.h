// How much executions differ in the rows of a plan report, where only a share of them is sampled.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/drawn_total.h"
#include "daemon/query/sums/execution_spread.h"

namespace tailor::query {

// Of a plan. Rows are parts of the whole that Selection::base says.
struct PlanSpreads {
  WholeSpread own;  // of the plan's own time
  std::map<ComponentId, RowSpread> operators;
  std::map<std::string_view, RowSpread> unowned;  // by NoOwner::key
  RowSpread all;                                  // of its own time, as a part of everything
  double average = 0;                             // effective samples of its own time; 0: not known
};

struct RowSpreads {
  WholeSpread everything;
  std::map<InProcess<PlanId>, PlanSpreads> plans;  // of those with samples in executions
  // As parts of everything, as the next are.
  RowSpread operators, components, unattributed;
  std::map<InProcess<std::uint32_t>, RowSpread> component_rows;
  std::map<std::string_view, RowSpread> unattributed_rows;  // by NoOwner::key
  double average = 0;                                       // effective samples of everything
};

// `total`: of the selection, by totals_by_source(); `worked`: the weight of it that samples stand for.
// `drawn`: drawn_sum(). Where all executions are drawn, nothing is read, and the whole says so.
RowSpreads row_spreads(const Profile& profile, const Selection& selection, std::uint16_t source,
                       const Cell& total, double worked, const DrawnSum& drawn);

// How many independent samples a sample of the selection is worth on average: 1 where all executions are
// drawn; 0: nothing is known of shares.
double sample_worth(const Profile& profile, const Selection& selection, std::uint16_t source);

}  // namespace tailor::query
