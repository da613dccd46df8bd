#include "compiler/weft/workflow/udf_bound.h"

#include <fmt/format.h>

#include <algorithm>

namespace tailor::weft::workflow {
namespace {

constexpr double kTolerance = 0.25;

// Of a tuple. A line that is written is read first.
double moved_bytes(const UdfVerdict& function) {
  return static_cast<double>(function.loaded_bytes + 2 * function.stored_bytes);
}

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

std::string held_against(const UdfVerdict& function, Bound bound, const HostSpeed& host, double measured_low,
                         double measured_high) {
  if (!function.cycles.unknown.empty()) return "open: nothing is predicted";
  if (function.cycles.calls > 0) return "open: what calls take is not predicted";
  double low = function.cycles.low, high = function.cycles.high;
  if (bound == Bound::kUnclear) return "open: there is no verdict";
  if (bound == Bound::kMemory) {
    low = moved_bytes(function) / host.bytes_per_ns * host.cycles_per_ns;
    high = std::max(low, high);
  }
  const double least = (1 - kTolerance) * low, most = (1 + kTolerance) * high;
  const char* limit = bound == Bound::kMemory ? "to load" : "to compute";
  if (measured_low > most) return fmt::format("wrong: it takes longer than {}", limit);
  if (measured_high < least) {
    if (bound == Bound::kComputing) return "wrong: it takes less than predicted";
    return "open: it takes less than to load, and loads may count for reading the input";
  }
  if (measured_low < least || measured_high > most) return "open: there are too few samples";
  return "holds";
}

BoundVerdict judge_bound(const UdfVerdict& function, const HostSpeed& host, std::uint64_t input_bytes) {
  const double moved = moved_bytes(function);
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
    return {Bound::kUnclear, times + ", but the whole input fits into the last caches"};
  if (high < load) return {Bound::kMemory, times};
  return {Bound::kUnclear, times + ": it depends on the way that tuples take"};
}

}  // namespace tailor::weft::workflow
