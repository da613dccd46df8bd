// How long an operator needs at least, on a machine whose rates are given, against the time that it took: the
// roofline of docs/bounds.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/query/reports/plan_report.h"

namespace tailor::query {

// What a thread can do in a second. 0: not known.
struct ThreadRates {
  double bytes = 0;   // that it reads and writes, while as many threads work as in the query
  double cycles = 0;  // that it computes
};

// The CPU time of one execution, in ns, with its 95 % interval.
struct MeasuredTime {
  double ns = 0;
  double low = 0, high = 0;
};

enum class BoundRole : unsigned char {
  kNotKnown,   // nothing that is known of it explains half of its time
  kMemory,     // half of its time or more is needed to move its bytes
  kComputing,  // half of its time or more is needed to compute
};

// All of one execution.
struct OperatorBound {
  ComponentId id = kNoComponent;  // kNoComponent: the whole plan
  std::string name;               // may be hostile
  std::optional<MeasuredTime> measured;
  // Read and written, of the accesses of which that is known, whatever the cache held before.
  double least_bytes = 0;
  std::optional<double> cycles;                 // that it computes, as far as it is known
  bool assumes_even = false;                    // of accesses that are spread evenly: others move less
  bool needs_more = false;                      // something that it moves or computes is not in it
  std::optional<double> memory_ns, compute_ns;  // nothing: no rate is known, or no need
  BoundRole role = BoundRole::kNotKnown;

  // The larger one of both; nothing: neither is known.
  std::optional<double> bound_ns() const;
  // How many times its bound it took. Nothing: one of them is not known, or the bound is nothing.
  std::optional<double> distance() const;
};

// The cost as the time of one of `runs` executions. Nothing if it is no CPU time or has no run.
std::optional<MeasuredTime> measured_time(const PlanReport& report, const Share95& cost, std::uint64_t runs);

// Fills in the times and the role by everything else. Rates that are no positive numbers are not known.
void judge(const ThreadRates& rates, OperatorBound& bound);

// "memory", "computing", "not_known".
std::string_view bound_role_key(BoundRole role);

}  // namespace tailor::query
