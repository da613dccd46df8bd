#include "daemon/query/reports/operator_bounds.h"

#include <algorithm>

#include "proto/traffic/roofline.h"

namespace tailor::query {
namespace {

// Of the upper end of the measured time: less is no explanation of it.
constexpr double kExplains = 0.5;

bool explains(const std::optional<double>& needed_ns, const MeasuredTime& measured) {
  return needed_ns && *needed_ns >= kExplains * measured.high;
}

}  // namespace

std::optional<double> OperatorBound::bound_ns() const {
  if (!memory_ns) return compute_ns;
  return compute_ns ? std::max(*memory_ns, *compute_ns) : memory_ns;
}

std::optional<double> OperatorBound::distance() const {
  const std::optional<double> bound = bound_ns();
  if (!measured || !bound || *bound <= 0) return std::nullopt;
  return measured->ns / *bound;
}

std::optional<MeasuredTime> measured_time(const PlanReport& report, const Share95& cost, std::uint64_t runs) {
  if (report.source.unit != profile::Unit::kNsOnCpu || report.elapsed || runs == 0 || cost.share <= 0)
    return std::nullopt;
  const double ns = cost.amount.weight / static_cast<double>(runs);
  return MeasuredTime{ns, ns * cost.interval.low / cost.share, ns * cost.interval.high / cost.share};
}

void judge(const ThreadRates& rates, OperatorBound& bound) {
  constexpr double kNsOfSecond = 1e9;
  // The whole rate may go to any kind of bytes.
  const traffic::Machine machine{.read_bytes = rates.bytes, .cycles = rates.cycles};
  const traffic::Needs needs{.read_bytes = bound.least_bytes, .cycles = bound.cycles.value_or(0)};
  const traffic::Bounds found = traffic::bounds_of(needs, machine);
  if (found.bandwidth > 0) bound.memory_ns = found.bandwidth * kNsOfSecond;
  if (found.compute > 0) bound.compute_ns = found.compute * kNsOfSecond;
  bound.role = BoundRole::kNotKnown;
  if (!bound.measured || bound.measured->ns <= 0) return;
  const bool by_memory = explains(bound.memory_ns, *bound.measured);
  const bool by_computing = explains(bound.compute_ns, *bound.measured);
  if (by_memory && (!by_computing || *bound.memory_ns >= *bound.compute_ns)) {
    bound.role = BoundRole::kMemory;
  } else if (by_computing) {
    bound.role = BoundRole::kComputing;
  }
}

std::string_view bound_role_key(BoundRole role) {
  switch (role) {
    case BoundRole::kMemory:
      return "memory";
    case BoundRole::kComputing:
      return "computing";
    case BoundRole::kNotKnown:
      break;
  }
  return "not_known";
}

}  // namespace tailor::query
