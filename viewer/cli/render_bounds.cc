#include "viewer/cli/render_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "viewer/cli/share_cells.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

constexpr std::size_t kAmountWidth = 12;

std::string access_text(const query::BoundsRow& row) {
  const std::string does = row.reads && row.writes ? "updated" : row.writes ? "written" : "read";
  return std::string(row.pattern) + ", " + does;
}

std::string least_text(const query::BoundsRow& row) {
  return row.least ? bytes_text(row.least->sum()) : "?";
}

std::string amounts(const query::MovedBytes& moved, const std::string& least) {
  return pad_left(bytes_text(moved.read), kAmountWidth) + pad_left(bytes_text(moved.written), kAmountWidth) +
         pad_left(least, kAmountWidth);
}

// "Scan lineitem: lineitem.l_shipdate"
std::string place_text(const query::BoundsRow& row, const Terminal& terminal) {
  return escape_line(row.operator_name, terminal.ascii) + ": " + escape_line(row.region, terminal.ascii);
}

std::string bounds_row(const query::BoundsRow& row, std::size_t place_width, const Terminal& terminal) {
  const std::string share = row.cost ? share_cell(*row.cost, terminal) : pad_left("", kShareWidth);
  const std::string place =
      pad(cut(place_text(row, terminal), place_width, terminal.ascii), place_width) + "  ";
  if (!row.unknown.empty())
    return share + "  " + place + terminal.dim("unknown: " + escape_line(row.unknown, terminal.ascii)) + "\n";
  constexpr std::size_t kAccessWidth = 20;
  return share + "  " + place + pad(access_text(row), kAccessWidth) +
         pad_left(grouped(static_cast<std::uint64_t>(std::llround(std::min(row.accesses, 1e18)))), 16) +
         amounts(row.expected, least_text(row)) + "\n";
}

// The first few by name.
std::string silent_text(const std::vector<std::string>& operators, const Terminal& terminal) {
  constexpr std::size_t kNamed = 8;
  std::string names;
  for (std::size_t i = 0; i < std::min(operators.size(), kNamed); ++i)
    names += (i > 0 ? ", " : "") + escape_line(operators[i], terminal.ascii);
  if (operators.size() > kNamed) names += fmt::format(" and {} more", grouped(operators.size() - kNamed));
  return "These operators say nothing of memory, and what they move is not in this: " + names + ".";
}

std::string bounds_part(const query::BoundsPart& part, const Terminal& terminal) {
  constexpr std::size_t kUsed = kShareWidth + 2 + 2 + 20 + 16 + 3 * kAmountWidth;
  std::size_t place_width = 16;
  for (const query::BoundsRow& row : part.rows)
    place_width = std::max(place_width, columns(place_text(row, terminal)));
  place_width = std::min(place_width, terminal.width > kUsed + 16 ? terminal.width - kUsed : 16);
  std::string out =
      terminal.bold(
          fmt::format("{} (process {})", escape_line(part.name, terminal.ascii), part.process.pid)) +
      "\n" +
      terminal.dim(pad_left("share", kShareWidth) + "  " + pad("operator: memory", place_width) + "  " +
                   pad("access", 20) + pad_left("accesses", 16) + pad_left("reads", kAmountWidth) +
                   pad_left("writes", kAmountWidth) + pad_left("at least", kAmountWidth)) +
      "\n";
  for (const query::BoundsRow& row : part.rows) out += bounds_row(row, place_width, terminal);
  if (part.unknown < part.rows.size())
    out += pad_left("", kShareWidth) + "  " + pad("all that is known", place_width) + "  " +
           pad_left("", 36) + amounts(part.expected, bytes_text(part.least)) + "\n";
  if (!part.silent_operators.empty())
    out += terminal.warn(wrap(silent_text(part.silent_operators, terminal), terminal.width, 2)) + "\n";
  if (part.unknown > 0)
    out +=
        terminal.warn(wrap(
            fmt::format("Of {} of {} accesses nothing is predicted. They move something, too, and take space "
                        "in the cache, so the plan moves more than this.",
                        grouped(part.unknown), grouped(part.rows.size())),
            terminal.width, 2)) +
        "\n";
  return out;
}

std::string notes(const query::BoundsReport& report) {
  std::string out = fmt::format(
      "Computed, not measured: what one execution moves between a cache of {} and memory. The numbers of "
      "rows "
      "are those of the last execution that the engine counted. The cache is empty at the begin. It has no "
      "sets, "
      "fetches nothing before it is used, and gives back what was used least recently. \"at least\" is what "
      "any "
      "cache of this size moves. \"share\" is measured: the time of the operator with all that it does.",
      bytes_text(static_cast<double>(report.cache_bytes)));
  if (report.silent > 0)
    out += fmt::format(" {} other {} nothing of memory.", grouped(report.silent),
                       report.silent == 1 ? "plan says" : "plans say");
  if (report.left_out > 0)
    out += fmt::format(" {} more {} left out: there are too many accesses to compute.",
                       grouped(report.left_out), report.left_out == 1 ? "plan is" : "plans are");
  return out;
}

}  // namespace

std::string render(const query::Profile&, const query::BoundsReport& report, const Terminal& terminal) {
  std::string out;
  for (const query::BoundsPart& part : report.plans) out += bounds_part(part, terminal) + "\n";
  return out + terminal.dim(wrap(notes(report), terminal.width, 0)) + "\n";
}

}  // namespace tailor::cli
