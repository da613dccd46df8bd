// Views over time and comparisons as text for people. Every string from a profile is escaped here.
#pragma once

#include <cstddef>
#include <string>

#include "daemon/query/reports/compare.h"
#include "daemon/query/reports/flame.h"
#include "daemon/query/time/timeline.h"
#include "daemon/serve/view.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// How many columns of blocks fit beside the names.
std::size_t timeline_buckets(const Terminal& terminal);
// At most `most_rows` rows in a lane; the others are added up in one more.
std::string render(const serve::View& view, const query::Timeline& line, const Terminal& terminal,
                   std::size_t most_rows);

std::string render(const query::Comparison& both, const std::string& name_a, const std::string& name_b,
                   const Terminal& terminal);

// The tree with shares; branches below `least` (0 to 1 of everything) are one line.
std::string render(const query::FlameReport& report, const Terminal& terminal, double least);
// A picture: one SVG file that needs nothing else. Names are shown when the pointer is on a box.
std::string flame_svg(const query::FlameReport& report, const std::string& title);
// The same picture in one page of HTML that needs nothing else: a click zooms in, and the tree is there as a
// table.
std::string flame_html(const query::FlameReport& report, const std::string& title);
// "a;b;c 12" lines, as flame graph tools read them.
std::string flame_folded(const query::FlameReport& report);

}  // namespace tailor::cli
