// Which operator accessed which region of memory.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "daemon/query/reports/plan_report.h"
#include "proto/base/result.h"

namespace tailor::query {

// Accesses of one owner in one region.
struct MemoryRow {
  ProcessId process;
  PlanId plan = 0;
  ComponentId operator_id = kNoComponent;  // kNoComponent: of no operator
  std::string operator_name;               // or why there is none
  std::uint32_t region = 0;                // kind; 0: nothing is known of the memory
  std::string region_name;
  Share95 cost;                                   // of everything sampled
  double latency = 0;                             // mean cycles of an access; 0: the source does not tell
  double latency_samples = 0;                     // that told it
  std::array<double, kMemoryLevels> served_by{};  // samples by the memory that had the data, see MemoryLevel
};

// Samples of one source. accesses <= samples; the skid tells how far from the sampled instruction the access
// was found.
struct MemoryReport {
  profile::Source source;
  Cell total;          // of all samples of the selection, with an address or not
  WholeSpread spread;  // of the executions in it
  double effective_samples = 0;
  std::map<InProcess<std::uint32_t>, RowSpread> kind_spreads;  // of all accesses to a kind of memory
  double user_samples = 0;           // in user mode: those that could have an operand
  double generated_samples = 0;      // of these, in generated code, whose bytes are known
  double lost = 0;                   // of these, without an address
  double recorded = 0;               // the address came with the sample (PEBS, IBS, page fault)
  double decoded = 0;                // computed from the instruction and the registers
  double in_regions = 0;             // of both, in a region that the engine registered
  double in_mappings = 0;            // of both, in none, but known by the mappings of the process
  std::array<double, 10> by_skid{};  // of the decoded, by instructions between access and sample
  std::vector<MemoryRow> rows;       // most expensive first
};

// Of costs as shares of everything sampled. A row's own spread makes its interval its own.
Scale scale_of(const MemoryReport& report);

// Of the selection's source, else of the one with most addresses. Fails, saying so, if no sample has one.
Result<MemoryReport> memory_report(const Profile& profile, const Selection& selection);

}  // namespace tailor::query
