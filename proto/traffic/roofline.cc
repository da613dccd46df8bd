#include "proto/traffic/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tailor::traffic {
namespace {

constexpr std::size_t kLimits = static_cast<std::size_t>(Limit::kCompute) + 1;

bool is_known(double value) {
  return std::isfinite(value) && value > 0;
}

}  // namespace

Bounds bounds_of(const Needs& needs, const Machine& machine) {
  Bounds out;
  const auto limit = [&](double amount, double rate, Limit by, double& part) {
    // A need that is no number is as good as unknown.
    if (!std::isfinite(amount) || amount < 0 || (amount > 0 && !is_known(rate))) {
      out.is_partial = true;
      return;
    }
    if (amount == 0) return;
    const double seconds = amount / rate;
    part = std::max(part, seconds);
    if (seconds <= out.seconds) return;
    out.seconds = seconds;
    out.limit = by;
  };
  const double moved =
      needs.read_bytes + needs.written_bytes + needs.random_read_bytes + needs.random_written_bytes;
  limit(needs.read_bytes, machine.read_bytes, Limit::kRead, out.bandwidth);
  limit(needs.written_bytes, machine.written_bytes, Limit::kWrite, out.bandwidth);
  limit(needs.random_read_bytes, machine.random_read_bytes, Limit::kRandomRead, out.bandwidth);
  limit(needs.random_written_bytes, machine.random_written_bytes, Limit::kRandomWrite, out.bandwidth);
  limit(moved, machine.moved_bytes, Limit::kMove, out.bandwidth);
  limit(needs.accesses, machine.accesses, Limit::kAccess, out.access_rate);
  limit(needs.cycles, machine.cycles, Limit::kCompute, out.compute);
  return out;
}

Bounds bounds_of(std::span<const Needs> phases, const Machine& machine) {
  Bounds out;
  std::array<double, kLimits> of_limit{};
  for (const Needs& needs : phases) {
    const Bounds phase = bounds_of(needs, machine);
    out.bandwidth += phase.bandwidth;
    out.access_rate += phase.access_rate;
    out.compute += phase.compute;
    out.seconds += phase.seconds;
    out.is_partial = out.is_partial || phase.is_partial;
    of_limit[static_cast<std::size_t>(phase.limit)] += phase.seconds;
  }
  const auto most = std::ranges::max_element(of_limit);
  if (*most > 0) out.limit = static_cast<Limit>(most - of_limit.begin());
  return out;
}

const char* name_of(Limit limit) {
  switch (limit) {
    case Limit::kNothing:
      return "nothing known";
    case Limit::kRead:
      return "read bandwidth";
    case Limit::kWrite:
      return "write bandwidth";
    case Limit::kMove:
      return "memory bandwidth";
    case Limit::kRandomRead:
      return "random reads";
    case Limit::kRandomWrite:
      return "random writes";
    case Limit::kAccess:
      return "rate of accesses";
    case Limit::kCompute:
      return "computation";
  }
  return "nothing known";
}

}  // namespace tailor::traffic
