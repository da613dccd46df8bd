#include "daemon/query/reports/cost_columns.h"

namespace tailor::query {
namespace {

constexpr CostColumn kColumns[] = {
    {"share", [](const Share95& cost) { return cost.share; }},
    {"share_low", [](const Share95& cost) { return cost.interval.low; }},
    {"share_high", [](const Share95& cost) { return cost.interval.high; }},
    {"samples", [](const Share95& cost) { return cost.amount.samples; }},
    {"weight", [](const Share95& cost) { return cost.amount.weight; }},
    {"kernel_weight", [](const Share95& cost) { return cost.amount.kernel; }, "kernel", 9, true},
    {"inferred_weight", [](const Share95& cost) { return cost.amount.inferred; }},
    {"shared_weight", [](const Share95& cost) { return cost.amount.shared; }},
};

}  // namespace

std::span<const CostColumn> cost_columns() {
  return kColumns;
}

std::optional<double> threads_of(const Amount& amount) {
  if (amount.cpu <= 0 || amount.weight <= 0) return std::nullopt;
  return amount.cpu / amount.weight;
}

}  // namespace tailor::query
