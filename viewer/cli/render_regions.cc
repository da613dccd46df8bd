// Memory by region: a table, and pictures of accesses over time (the paper's Figure 12).
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "viewer/cli/render_memory.h"
#include "viewer/cli/render_parts.h"
#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kPictureRows = 8;

std::string pattern_text(const query::Walk& walk) {
  std::string text(query::pattern_key(walk.pattern));
  if (walk.pattern == query::Pattern::kStrided) text += fmt::format(" {} B", walk.stride);
  return text;
}

std::string_view shade(double part, bool ascii) {
  static constexpr std::array<std::string_view, 5> kShades = {" ", "░", "▒", "▓", "█"};
  static constexpr std::array<std::string_view, 5> kAscii = {" ", ".", "+", "*", "#"};
  // The square root shows few accesses beside many.
  const auto level = part <= 0 ? 0L : std::clamp(std::lround(std::sqrt(part) * 4), 1L, 4L);
  return (ascii ? kAscii : kShades)[static_cast<std::size_t>(level)];
}

// Time from left to right, addresses from the bottom up, a shade for the number of accesses.
std::string picture(const query::MemoryPoints& points, std::int32_t region, TimeNs from, TimeNs to,
                    const Terminal& terminal) {
  const query::RegionLife& life = points.regions[static_cast<std::size_t>(region)];
  const std::size_t label = 12, columns_wide = terminal.width > label + 20 ? terminal.width - label - 2 : 20;
  std::vector<double> cells(kPictureRows * columns_wide, 0.0);
  double most = 0;
  for (std::size_t i = 0; i < points.time.size(); ++i) {
    if (points.region[i] != region) continue;
    const auto x =
        static_cast<std::size_t>(static_cast<double>(points.time[i] - from) / static_cast<double>(to - from) *
                                 static_cast<double>(columns_wide));
    const auto y = static_cast<std::size_t>(static_cast<double>(points.offset[i]) /
                                            static_cast<double>(std::max<std::uint64_t>(life.size, 1)) *
                                            static_cast<double>(kPictureRows));
    double& cell = cells[std::min(y, kPictureRows - 1) * columns_wide + std::min(x, columns_wide - 1)];
    cell += points.weight[i];
    most = std::max(most, cell);
  }
  std::string out;
  for (std::size_t row = kPictureRows; row-- > 0;) {
    const bool end = row + 1 == kPictureRows, begin = row == 0;
    std::string line = pad_left(end     ? bytes_text(static_cast<double>(life.size))
                                : begin ? "0 B"
                                        : "",
                                label) +
                       " ";
    std::string blocks;
    for (std::size_t x = 0; x < columns_wide; ++x)
      blocks += shade(most > 0 ? cells[row * columns_wide + x] / most : 0, terminal.ascii);
    while (blocks.ends_with(' ')) blocks.pop_back();
    out += line + terminal.bar_colour(blocks) + "\n";
  }
  return out;
}

// The regions with most points, as indexes.
std::vector<std::int32_t> busiest(const query::MemoryPoints& points, std::size_t most) {
  std::vector<std::int32_t> order(points.regions.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return points.regions[static_cast<std::size_t>(a)].samples >
           points.regions[static_cast<std::size_t>(b)].samples;
  });
  order.resize(std::min(order.size(), most));
  return order;
}

}  // namespace

std::string render_regions(const std::vector<query::RegionRow>& rows, const Terminal& terminal) {
  const bool latencies = std::ranges::any_of(rows, [](const auto& row) { return row.latency > 0; });
  constexpr std::size_t kGap = 2;
  std::size_t pattern_width = 7, role_width = 4;  // of the headings
  double largest = 0;
  for (const query::RegionRow& row : rows) {
    largest = std::max(largest, row.cost.amount.samples);
    pattern_width = std::max(pattern_width, columns(pattern_text(row.walk)));
    role_width = std::max(role_width, row.role.size());
  }
  pattern_width += kGap;
  role_width += kGap;
  const std::size_t samples_width = number_width(largest, kLeastSamplesWidth);
  const std::size_t used =
      kShareWidth + kRangeWidth + samples_width + (latencies ? 8 : 0) + kGap + pattern_width + role_width;
  const std::size_t room = terminal.width > used + 8 ? terminal.width - used : 8;
  std::string out =
      terminal.bold(pad_left("share", kShareWidth) + pad_left("95 %", kRangeWidth) +
                    pad_left("samples", samples_width) + (latencies ? pad_left("cycles", 8) : "") + "  " +
                    pad("pattern", pattern_width) + pad("role", role_width) + "memory") +
      "\n";
  for (const query::RegionRow& row : rows) {
    out += share_cell(row.cost, terminal) + range_cell(row.cost, terminal) +
           pad_left(grouped(static_cast<std::uint64_t>(std::lround(row.cost.amount.samples))), samples_width);
    if (latencies) out += pad_left(row.latency > 0 ? fmt::format("{:.0f}", row.latency) : "", 8);
    out += "  " + pad(pattern_text(row.walk), pattern_width) + pad(row.role, role_width);
    std::string more = row.regions > 1 ? fmt::format("{} regions", grouped(row.regions)) : "";
    const std::string levels = served_by_text(row.served_by, row.cost.amount.samples);
    if (!levels.empty()) more += (more.empty() ? "" : "; ") + levels;
    out += memory_text(escape_line(row.name, terminal.ascii), more, room, terminal) + "\n";
  }
  return out;
}

std::string render_accesses(const query::Profile& profile, const query::MemoryPoints& points, TimeNs origin,
                            std::size_t most, const Terminal& terminal) {
  if (points.time.empty()) return "";
  const auto [first, last] = std::ranges::minmax(points.time);
  const TimeNs to = last + 1;
  std::string out;
  for (const std::int32_t region : busiest(points, most)) {
    const query::RegionLife& life = points.regions[static_cast<std::size_t>(region)];
    out += "\n" + terminal.bold(escape_line(profile.region_name(life.process, life.kind), terminal.ascii)) +
           fmt::format(" at {:#x}, {}, {} of {} samples\n", life.base,
                       bytes_text(static_cast<double>(life.size)), grouped(life.samples),
                       grouped(points.total)) +
           picture(points, region, first, to, terminal);
  }
  if (out.empty()) return "";
  return out + std::string(13, ' ') +
         terminal.dim(fmt::format("from {} to {}; darker: more accesses",
                                  duration(static_cast<double>(first - origin)),
                                  duration(static_cast<double>(to - origin)))) +
         "\n";
}

}  // namespace tailor::cli
