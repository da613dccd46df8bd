#include "viewer/cli/render_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <ctime>
#include <vector>

#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

using query::Json;

constexpr std::size_t kMostRows = 20;

std::string utc(double ms, bool with_hour) {
  const auto seconds = static_cast<std::time_t>(ms / 1000);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  char text[32] = {};
  std::strftime(text, sizeof text, with_hour ? "%Y-%m-%d %H:00" : "%Y-%m-%d", &parts);
  return text;
}

std::string amount_text(const Json& sum) {
  const double weight = sum["weight"];
  if (sum["unit"] != "events") return duration(weight);
  return grouped(static_cast<std::uint64_t>(std::llround(weight)));
}

// The event whose rows are shown: one that measures time on CPU, if there is one.
const Json* main_event(const Json& sums) {
  const Json* first = nullptr;
  for (const Json& event : sums["events"]) {
    if (event["unit"] == "ns_on_cpu") return &event;
    if (first == nullptr) first = &event;
  }
  return first;
}

bool same_event(const Json& a, const Json& b) {
  return a["source"] == b["source"] && a["unit"] == b["unit"];
}

std::string history_row(const Json& row, bool ascii) {
  std::string name = escape_line(row["name"].get_ref<const std::string&>(), ascii);
  const auto& kind = row["kind"].get_ref<const std::string&>();
  if (!kind.empty() && kind != name) name += " (" + escape_line(kind, ascii) + ")";
  if (row["what"] == "unattributed") name = "unattributed: " + name;
  return name;
}

double share_of(const Json& part, const Json& whole) {
  const double all = whole["weight"];
  return all > 0 ? part["weight"].get<double>() / all : 0;
}

// The rows of an event with their shares.
std::string rows_table(const Json& history, const Json& event, const Terminal& terminal) {
  std::string out = terminal.bold(fmt::format(
                        "{}: {} in {} samples",
                        escape_line(event["source"].get<std::string>(), terminal.ascii), amount_text(event),
                        grouped(static_cast<std::uint64_t>(std::llround(event["samples"].get<double>()))))) +
                    "\n";
  std::size_t shown = 0;
  for (const Json& row : history["rows"]) {
    if (!same_event(row, event) || ++shown > kMostRows) continue;
    out += fmt::format("  {}  {}  {}\n", pad_left(percent(share_of(row, event)), 8),
                       pad_left(amount_text(row), 12),
                       cut(history_row(row, terminal.ascii), terminal.width > 40 ? terminal.width - 28 : 20,
                           terminal.ascii));
  }
  if (shown > kMostRows) out += terminal.dim(fmt::format("  and {} more (--json)", shown - kMostRows)) + "\n";
  return out;
}

// The heaviest rows of a period in a line.
std::string heaviest(const Json& period, const Json& event, bool ascii) {
  std::string out;
  int shown = 0;
  for (const Json& row : period["rows"]) {
    if (!same_event(row, event) || ++shown > 3) continue;
    out += (out.empty() ? "" : ", ") + history_row(row, ascii) + " " + percent(share_of(row, event));
  }
  return out;
}

// Executions that are in no elapsed time.
std::uint64_t untimed_of(const Json& sums) {
  return sums["elapsed_ns"].value("unknown", std::uint64_t{0});
}

bool has_elapsed(const Json& sums) {
  return sums["executions"].get<std::uint64_t>() > untimed_of(sums);
}

// "": there is none, or of none it is known.
std::string mean_elapsed(const Json& sums) {
  return has_elapsed(sums) ? duration(sums["elapsed_ns"]["mean"]) : "";
}

std::string periods_table(const Json& history, const Terminal& terminal) {
  const bool hours = history["by"] == "hour";
  std::string out = terminal.dim(fmt::format("{:<16}  {:>10}  {:>9}  {:>10}  {}",
                                             hours ? "hour (UTC)" : "day (UTC)", "executions", "elapsed",
                                             "cost", history.contains("queries") ? "" : "most of it")) +
                    "\n";
  for (const Json& period : history["periods"]) {
    const Json* event = main_event(period);
    std::string line = fmt::format(
        "{:<16}  {}  {}  {}  ", utc(period["begin_ms"], hours), pad_left(grouped(period["executions"]), 10),
        pad_left(mean_elapsed(period), 9), pad_left(event == nullptr ? "" : amount_text(*event), 10));
    const std::size_t used = columns(line);
    if (event != nullptr)
      line += cut(heaviest(period, *event, terminal.ascii),
                  terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string queries_table(const Json& history, const Terminal& terminal) {
  std::string out = terminal.dim(fmt::format("{:<16}  {:>10}  {:>9}  {:>10}  query", "fingerprint",
                                             "executions", "elapsed", "cost")) +
                    "\n";
  for (const Json& each : history["queries"]) {
    const Json* event = main_event(each);
    std::string name = escape_line(each["name"].get<std::string>(), terminal.ascii);
    const std::string text = sql_line(each["text"].get<std::string>(), terminal.ascii);
    if (!text.empty()) name += (name.empty() ? "" : ": ") + text;
    if (each["fingerprint"] == "") name = "outside of executions";
    const std::string line = fmt::format(
        "{}  {}  {}  {}  ", pad(escape_line(each["fingerprint"].get<std::string>(), terminal.ascii), 16),
        pad_left(grouped(each["executions"]), 10), pad_left(mean_elapsed(each), 9),
        pad_left(event == nullptr ? "" : amount_text(*event), 10));
    const std::size_t used = columns(line);
    out += line + cut(name, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii) + "\n";
  }
  return out;
}

std::string losses_line(const Json& history) {
  if (!history.contains("losses")) return {};
  const Json& losses = history["losses"];
  const std::uint64_t lost =
      losses["lost_ring"].get<std::uint64_t>() + losses["lost_hardware"].get<std::uint64_t>();
  if (lost + losses["late"].get<std::uint64_t>() + losses["unwritten"].get<std::uint64_t>() == 0) return {};
  return fmt::format(
      "\nNot in these sums, of the whole host: {} samples lost, {} late, {} that could not be stored.\n",
      grouped(lost), grouped(losses["late"]), grouped(losses["unwritten"]));
}

}  // namespace

std::string render_history(const Json& history, const Terminal& terminal) {
  std::string out;
  if (history.contains("fingerprint")) {
    std::string title = escape_line(history["fingerprint"].get<std::string>(), terminal.ascii);
    for (const char* key : {"name", "text"}) {
      const std::string text = sql_line(history[key].get<std::string>(), terminal.ascii);
      if (!text.empty()) title += ": " + text;
    }
    out += terminal.bold(cut(title, terminal.width, terminal.ascii)) + "\n";
  }
  out += fmt::format("{} executions ended, {} of them failed", grouped(history["executions"]),
                     grouped(history["failed"]));
  if (const std::uint64_t untimed = untimed_of(history); untimed > 0)
    out += fmt::format(", {} in no elapsed time (runs added up, not known how many)", grouped(untimed));
  if (has_elapsed(history)) {
    const Json& elapsed = history["elapsed_ns"];
    out += fmt::format("; elapsed {} on average, {} to {}", duration(elapsed["mean"]),
                       duration(elapsed["min"]), duration(elapsed["max"]));
    if (!elapsed["p95"].is_null())
      out += fmt::format("; half of them took {} at most, 95 % {}", duration(elapsed["p50"]),
                         duration(elapsed["p95"]));
  }
  out += "\n\n" + periods_table(history, terminal);
  if (history.contains("queries")) out += "\n" + queries_table(history, terminal);
  for (const Json& event : history["events"]) out += "\n" + rows_table(history, event, terminal);
  return out + losses_line(history);
}

}  // namespace tailor::cli
