#include "compiler/weft/workflow/udf_bound.h"

#include <fmt/format.h>

namespace tailor::weft::workflow {
namespace {

// One number where both are the same as they are shown.
std::string range_text(double low, double high, const char* unit) {
  const std::string from = fmt::format("{:.2f}", low), to = fmt::format("{:.2f}", high);
  return from == to ? fmt::format("{} {}", from, unit) : fmt::format("{} to {} {}", from, to, unit);
}

}  // namespace

std::string cycles_text(const jit::LoopCycles& cycles) {
  if (!cycles.unknown.empty()) return {};
  std::string text = range_text(cycles.low, cycles.high, "cycles");
  if (cycles.calls > 0)
    text += fmt::format(", and what {:.2g} calls take, of which no model knows", cycles.calls);
  return text;
}

BoundVerdict judge_bound(const UdfVerdict& function, const HostSpeed& host, std::uint64_t input_bytes) {
  // A line that is written is read first.
  const auto moved = static_cast<double>(function.loaded_bytes + 2 * function.stored_bytes);
  if (moved == 0) return {Bound::kComputing, "nothing that it takes comes from the memory of an input"};
  if (!function.cycles.unknown.empty())
    return {Bound::kUnclear, "its cycles are not predicted: " + function.cycles.unknown};
  if (host.cycles_per_ns <= 0 || host.bytes_per_ns <= 0)
    return {Bound::kUnclear, "how fast this host computes and reads memory is not known"};
  const double low = function.cycles.low / host.cycles_per_ns;
  const double high = function.cycles.high / host.cycles_per_ns;
  const double load = moved / host.bytes_per_ns;
  const std::string times =
      fmt::format("a tuple takes {} to compute and {:.2f} ns to load", range_text(low, high, "ns"), load);
  if (low > load) return {Bound::kComputing, times};
  if (function.cycles.calls > 0) return {Bound::kUnclear, times + ", and its calls take an unknown time"};
  if (input_bytes > 0 && input_bytes <= host.cache_bytes)
    return {Bound::kUnclear, times + ", but the whole input fits into the last cache"};
  if (high < load) return {Bound::kMemory, times};
  return {Bound::kUnclear, times + ": it depends on the way that tuples take"};
}

}  // namespace tailor::weft::workflow
