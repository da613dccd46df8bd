#include "viewer/cli/render_bounds.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
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

// Marks a bound that holds only for accesses that are spread evenly.
std::string if_even(const std::string& text, bool is_even) {
  return is_even ? "~" + text : text;
}

std::string least_text(const query::BoundsRow& row) {
  return row.least ? if_even(bytes_text(row.least->sum()), row.assumes_even) : "?";
}

// `more`: what is moved is more than this.
std::string amounts(const query::MovedBytes& moved, bool more, const std::string& least,
                    const Terminal& terminal) {
  const auto amount = [&](double bytes) {
    const std::string text = bytes_text(bytes);
    return pad_left(more && bytes > 0 ? at_least(text, terminal.ascii) : text, kAmountWidth);
  };
  return amount(moved.read) + amount(moved.written) + pad_left(least, kAmountWidth);
}

// "Scan lineitem: lineitem.l_shipdate"
std::string place_text(const query::BoundsRow& row, const Terminal& terminal) {
  return escape_line(row.operator_name, terminal.ascii) + ": " + escape_line(row.region, terminal.ascii);
}

std::string access_count(const query::BoundsRow& row, const Terminal& terminal) {
  const std::string text = grouped(static_cast<std::uint64_t>(std::llround(std::min(row.accesses, 1e18))));
  return row.at_least ? at_least(text, terminal.ascii) : text;
}

std::string bounds_row(const query::BoundsRow& row, std::size_t place_width, const Terminal& terminal) {
  const std::string share = row.cost ? share_cell(*row.cost, terminal) : pad_left("", kShareWidth);
  const std::string place =
      pad(cut(place_text(row, terminal), place_width, terminal.ascii), place_width) + "  ";
  if (!row.unknown.empty())
    return share + "  " + place + terminal.dim("unknown: " + escape_line(row.unknown, terminal.ascii)) + "\n";
  constexpr std::size_t kAccessWidth = 20;
  return share + "  " + place + pad(access_text(row), kAccessWidth) +
         pad_left(access_count(row, terminal), 16) +
         amounts(row.expected, row.at_least, least_text(row), terminal) + "\n";
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

constexpr std::size_t kTimeWidth = 14;

std::string time_text(const std::optional<double>& ns) {
  return ns ? duration(*ns) : "?";
}

std::string role_text(const query::OperatorBound& bound) {
  switch (bound.role) {
    case query::BoundRole::kMemory:
      return if_even("memory", bound.assumes_even);
    case query::BoundRole::kComputing:
      return "computing";
    case query::BoundRole::kNotKnown:
      break;
  }
  return "not known";
}

std::string time_row(const query::OperatorBound& bound, const std::string& name, std::size_t name_width,
                     const Terminal& terminal) {
  const std::optional<double> distance = bound.distance();
  return pad(cut(escape_line(name, terminal.ascii), name_width, terminal.ascii), name_width) +
         pad_left(bound.measured ? duration(bound.measured->ns) : "?", kTimeWidth) +
         pad_left(bound.memory_ns ? if_even(duration(*bound.memory_ns), bound.assumes_even) : "?",
                  kTimeWidth) +
         pad_left(time_text(bound.compute_ns), kTimeWidth) +
         pad_left(distance ? fmt::format("{:.1f} x", *distance) : "?", kTimeWidth) + "  " + role_text(bound) +
         "\n";
}

// What operators took, and what they need at least. Empty: no rate was given.
std::string times_section(const query::BoundsPart& part, const query::ThreadRates& rates,
                          const Terminal& terminal) {
  if (!(rates.bytes > 0) && !(rates.cycles > 0)) return "";
  constexpr std::size_t kUsed = 4 * kTimeWidth + 2 + 10;
  std::size_t width = 16;
  for (const query::OperatorBound& bound : part.operators)
    width = std::max(width, columns(escape_line(bound.name, terminal.ascii)));
  width = std::min(width, terminal.width > kUsed + 16 ? terminal.width - kUsed : 16);
  std::string out = "\n" +
                    terminal.dim(pad("operator", width) + pad_left("measured", kTimeWidth) +
                                 pad_left("to move", kTimeWidth) + pad_left("to compute", kTimeWidth) +
                                 pad_left("distance", kTimeWidth) + "  bound by") +
                    "\n";
  for (const query::OperatorBound& bound : part.operators)
    out += time_row(bound, bound.name, width, terminal);
  out += time_row(part.whole, "the whole plan", width, terminal);
  if (!part.not_measured.empty())
    out += terminal.warn(wrap("No time is measured: " + part.not_measured + ".", terminal.width, 2)) + "\n";
  return out;
}

std::string bounds_part(const query::BoundsPart& part, const query::ThreadRates& rates,
                        const Terminal& terminal) {
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
           pad_left("", 36) +
           amounts(part.expected, part.whole.needs_more,
                   if_even(bytes_text(part.least), part.whole.assumes_even), terminal) +
           "\n";
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
  return out + times_section(part, rates, terminal);
}

// What the marks mean, where there are any.
std::string mark_notes(const query::BoundsReport& report) {
  bool even = false, more = false;
  for (const query::BoundsPart& part : report.plans)
    for (const query::BoundsRow& row : part.rows) {
      even = even || (row.assumes_even && row.unknown.empty());
      more = more || (row.at_least && row.unknown.empty());
    }
  std::string out;
  if (even)
    out +=
        " \"~\": accesses are taken for spread evenly. Where rows that follow each other have the same keys, "
        "less is moved.";
  if (more)
    out += " Amounts marked as a least: the engine says that there are more accesses than it can tell.";
  return out;
}

std::string rate_notes(const query::ThreadRates& rates) {
  std::string out;
  if (rates.bytes > 0)
    out += fmt::format(" A thread moves {:.4g} GB in a second, as you said.", rates.bytes / 1e9);
  if (rates.cycles > 0)
    out +=
        fmt::format(" A thread computes {:.4g} billion cycles in a second, as you said.", rates.cycles / 1e9);
  if (out.empty()) return out;
  return out +
         " \"measured\" is CPU time of one execution, on average. \"bound by\" says what needs half of it or "
         "more. The code of another operator may run while memory is fetched, so an operator can be faster "
         "than its bound. \"to move\" leaves out as much as the cache may have held before.";
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
  return out + mark_notes(report) + rate_notes(report.rates);
}

}  // namespace

std::string render(const query::Profile&, const query::BoundsReport& report, const Terminal& terminal) {
  std::string out;
  for (const query::BoundsPart& part : report.plans) out += bounds_part(part, report.rates, terminal) + "\n";
  return out + terminal.dim(wrap(notes(report), terminal.width, 0)) + "\n";
}

}  // namespace tailor::cli
