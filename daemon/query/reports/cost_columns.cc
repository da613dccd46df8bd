#include "daemon/query/reports/cost_columns.h"

namespace tailor::query {
namespace {

using Of = CostColumn::Of;
using Shown = CostColumn::Shown;
using Value = std::optional<double>;

constexpr CostColumn kColumns[] = {
    {"share", Of::kAll, [](const Share95& cost) -> Value { return cost.share; }},
    {"share_low", Of::kAll, [](const Share95& cost) -> Value { return cost.interval.low; }},
    {"share_high", Of::kAll, [](const Share95& cost) -> Value { return cost.interval.high; }},
    {"samples", Of::kAll, [](const Share95& cost) -> Value { return cost.amount.samples; }},
    {"weight", Of::kAll, [](const Share95& cost) -> Value { return cost.amount.weight; }},
    {"kernel_weight",
     Of::kAll,
     [](const Share95& cost) -> Value { return cost.amount.kernel; },
     {.shown = Shown::kPart, .heading = "kernel", .width = 9, .room = 90, .of_kernel = true}},
    {"inferred_weight", Of::kAll, [](const Share95& cost) -> Value { return cost.amount.inferred; }},
    {"shared_weight", Of::kAll, [](const Share95& cost) -> Value { return cost.amount.shared; }},
    {"cpu_ns", Of::kElapsed,
     [](const Share95& cost) { return threads_of(cost.amount) ? Value(cost.amount.cpu) : std::nullopt; }},
    {"threads",
     Of::kElapsed,
     [](const Share95& cost) { return threads_of(cost.amount); },
     {.shown = Shown::kNumber, .heading = "threads", .width = 8, .room = 60}},
    {"skew",
     Of::kElapsed,
     [](const Share95& cost) { return cost.skew ? Value(cost.skew->value()) : std::nullopt; },
     {.shown = Shown::kNumber,
      .heading = "skew",
      .width = 6,
      .room = 70,
      .by_chance = [](const Share95& cost) { return cost.skew && cost.skew->low() <= 1; }}},
    {"skew_low", Of::kElapsed,
     [](const Share95& cost) { return cost.skew ? Value(cost.skew->low()) : std::nullopt; }},
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
