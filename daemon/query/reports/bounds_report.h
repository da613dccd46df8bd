// What plans move between a cache and memory: computed from what engines say of their accesses, with the rows
// that they counted (docs/bounds.md).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
};

struct BoundsReport {
  std::uint64_t cache_bytes = 0;
  std::uint32_t line_bytes = 0;
  std::vector<BoundsPart> plans;  // most expensive first
  std::uint64_t silent = 0;       // plans of the report whose engine says nothing of accesses
  std::uint64_t left_out = 0;     // plans that were too many to compute
};

// Of the plans of `report`, which is of `profile`. An execution begins with an empty cache, and what it
// modified is written back: `least` leaves out what the cache still holds at its end.
//
// Fails (kInvalid) if there is no cache of that size, and (kNotFound) if no engine says how it uses memory.
Result<BoundsReport> bounds_report(const Profile& profile, const PlanReport& report,
                                   std::uint64_t cache_bytes);

// "sequential", "conditional", "shuffled", "random", "partitioned"; "unknown" for all other numbers.
std::string_view pattern_key(v1::AccessPattern pattern);

}  // namespace tailor::query
