// How much executions differ in the memory that they access, where only a share of them is sampled.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <tuple>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/query/sums/execution_spread.h"

namespace tailor::query {

// A row of a memory report: who accessed which kind of memory. The text says why there is no operator.
using MemoryKey = std::tuple<ProcessId, PlanId, ComponentId, std::string, std::uint32_t>;
// All rows of one kind of memory.
using MemoryKind = InProcess<std::uint32_t>;

bool has_address(const CellKey& key);

// Calls `use` for each row that a cost with an address belongs to, with the part of it that does.
void for_each_memory_row(const Profile& profile, const Cost& cost,
                         const std::function<void(const MemoryKey& row, double part, bool is_shared)>& use);

// Rows are parts of everything that was sampled of the source, with an address or not.
struct MemorySpreads {
  WholeSpread everything;
  double average = 0;  // effective samples of everything, over all rows and what has no address
  std::map<MemoryKey, RowSpread> rows;
  std::map<MemoryKind, RowSpread> kinds;
};

// `total`: of the selection, by totals_by_source(). Where all executions are drawn, no row is read, and the
// whole says so.
MemorySpreads memory_spreads(const Profile& profile, const Selection& selection, std::uint16_t source,
                             const Cell& total);

}  // namespace tailor::query
