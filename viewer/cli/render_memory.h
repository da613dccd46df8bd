// Accesses to memory as text for people.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "daemon/query/reports/region_report.h"
#include "daemon/query/sums/memory_points.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// "L1 80.0 %, RAM 12.5 %" of `samples`; "" where the source does not tell.
std::string served_by_text(const std::array<double, query::kMemoryLevels>& served_by, double samples);

// "orders (15 regions; RAM 100.0 %)", in at most `room` columns. `name` is escaped already.
std::string memory_text(const std::string& name, const std::string& more, std::size_t room,
                        const Terminal& terminal);

std::string render_regions(const std::vector<query::RegionRow>& rows, const Terminal& terminal);

// A picture of each of the `most` regions with most points. "" where no point is in a region.
std::string render_accesses(const query::Profile& profile, const query::MemoryPoints& points, TimeNs origin,
                            std::size_t most, const Terminal& terminal);

}  // namespace tailor::cli
