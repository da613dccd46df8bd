// What plans move between a cache and memory: computed from what engines say of their accesses, with the rows
// that they counted (docs/bounds.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/reports/operator_bounds.h"
#include "daemon/query/reports/plan_report.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::query {

struct MovedBytes {
  double read = 0;
  double written = 0;

  double sum() const { return read + written; }
};

// An access of a component to the regions of a kind.
struct BoundsRow {
  ComponentId operator_id = kNoComponent;  // kNoComponent: it is of none, or of several
  std::string operator_name;               // the component's own name then
  std::optional<Share95> cost;             // of that operator, with all that it does
  std::string region;                      // may be hostile
  std::string_view pattern;                // "sequential", see pattern_key()
  std::uint32_t pipeline = 0;
  std::uint32_t step = 0;  // of the pipeline: 0 while its rows pass
  bool reads = false, writes = false;
  // The engine says that there are more accesses than these: the numbers below are too small.
  bool at_least = false;
  // They are taken for spread evenly over the region. Where they are not, less is moved, `least` included.
  bool assumes_even = false;
  // Why nothing is predicted. Empty: it is, and the numbers are of one execution.
  std::string unknown;
  std::uint64_t items = 0;  // of the region
  double accesses = 0;      // to items
  MovedBytes expected;      // in the cache that gives back what was used least recently
  // What any cache of that size moves at least, if the engine tells all accesses to the region. Nothing: of
  // one of them nothing is predicted, and it may bring what this one needs.
  std::optional<MovedBytes> least;
};

struct BoundsPart {
  ProcessId process;
  PlanId plan = 0;
  std::string name;  // may be hostile
  // Those that are predicted, in an order in which pipelines may run; then the others.
  std::vector<BoundsRow> rows;
  std::uint64_t unknown = 0;  // rows of which nothing is predicted
  MovedBytes expected;        // of all others together
  double least = 0;           // the same, read and written
  // Operators of the plan, none of whose components says anything of memory. They may move something, too.
  std::vector<std::string> silent_operators;
  // Of the operators that move or compute something that is known, in the order of the drawn tree; and all of
  // the plan together.
  std::vector<OperatorBound> operators;
  OperatorBound whole;
  // Why no time is measured. Empty: it is.
  std::string not_measured;
};

struct BoundsOptions {
  std::uint64_t cache_bytes = 0;
  ThreadRates rates = {};
  // Executions of the most expensive plan, whose times are then measured; or why they are not known. Of other
  // plans they never are.
  std::uint64_t runs = 0;
  std::string runs_unknown = {};
};

struct BoundsReport {
  std::uint64_t cache_bytes = 0;
  std::uint32_t line_bytes = 0;
  ThreadRates rates = {};
  std::vector<BoundsPart> plans;  // most expensive first
  std::uint64_t silent = 0;       // plans of the report whose engine says nothing of accesses
  std::uint64_t left_out = 0;     // plans that were too many to compute
};

// Of the plans of `report`, which is of `profile`. An execution begins with an empty cache, and what it
// modified is written back: `least` leaves out what the cache still holds at its end.
//
// Fails (kInvalid) if there is no cache of that size, and (kNotFound) if no engine says how it uses memory.
Result<BoundsReport> bounds_report(const Profile& profile, const PlanReport& report,
                                   const BoundsOptions& options);

// "sequential", "conditional", "shuffled", "random", "partitioned"; "unknown" for all other numbers.
std::string_view pattern_key(v1::AccessPattern pattern);

}  // namespace tailor::query
