#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "daemon/query/keys.h"
#include "viewer/cli/choose.h"
#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

std::string label(const profile::ExecutionRecord& execution, std::string_view key) {
  for (const auto& [name, value] : execution.labels) {
    if (name == key) return value;
  }
  return {};
}

std::string wall_text(std::uint64_t ns) {
  if (ns == 0) return "?";
  const auto seconds = static_cast<std::time_t>(ns / 1'000'000'000);
  std::tm parts{};
  char text[32];
  if (::localtime_r(&seconds, &parts) == nullptr) return "?";
  if (std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts) == 0) return "?";
  return text;
}

std::string elapsed_text(const profile::ExecutionRecord& e) {
  if (e.end == kTimeMax) return "running";
  return e.end < e.begin ? "?" : duration(static_cast<double>(e.end - e.begin));
}

std::string who_text(const profile::ExecutionRecord& e, bool ascii) {
  std::string out;
  for (const char* key : {"user", "database", "application"}) {
    const std::string value = label(e, key);
    if (!value.empty()) out += (out.empty() ? "" : "/") + escape_line(value, ascii);
  }
  return out;
}

std::string render_rows(const std::vector<store::ExecutionRow>& rows, const Terminal& terminal) {
  double most_samples = 0, most_rows = 0;
  for (const store::ExecutionRow& row : rows) {
    most_samples = std::max(most_samples, static_cast<double>(row.cost.samples));
    if (row.record.rows_known) most_rows = std::max(most_rows, static_cast<double>(row.record.rows));
  }
  const std::size_t samples = number_width(most_samples, 10), counts = number_width(most_rows, 12);
  std::string out = terminal.dim(fmt::format("{:<19}  {:<12}  {:>9}  {:>9}{}{}  {:<12}  {}", "began",
                                             "execution", "elapsed", "CPU", pad_left("samples", samples),
                                             pad_left("rows", counts), "who", "query")) +
                    "\n";
  for (const store::ExecutionRow& row : rows) {
    const profile::ExecutionRecord& e = row.record;
    std::string query = escape_line(row.plan_name, terminal.ascii);
    const std::string text = sql_line(label(e, "query"), terminal.ascii);
    if (!text.empty()) query += (query.empty() ? "" : ": ") + text;
    if (!e.error.empty()) query = "failed: " + escape_line(e.error, terminal.ascii) + "; " + query;
    std::string line = fmt::format(
        "{:<19}  {}  {}  {}{}{}  {}  ", wall_text(row.wall_begin_ns), query::hex(e.id).substr(0, 12),
        pad_left(elapsed_text(e), 9), pad_left(duration(row.cost.cpu_ns), 9),
        pad_left(grouped(row.cost.samples), samples), pad_left(e.rows_known ? grouped(e.rows) : "?", counts),
        pad(cut(who_text(e, terminal.ascii), 12, terminal.ascii), 12));
    const std::size_t used = columns(line);
    line += cut(query, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  return out;
}

std::string rows_json(const std::vector<store::ExecutionRow>& rows) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const store::ExecutionRow& row : rows) {
    const profile::ExecutionRecord& e = row.record;
    Json labels = Json::object();
    for (const auto& [key, value] : e.labels) labels[key] = value;
    Json item = {{"id", query::hex(e.id)},           {"pid", e.process.pid},
                 {"process_start", e.process.start}, {"plan", e.plan},
                 {"plan_name", row.plan_name},       {"began_wall_ns", row.wall_begin_ns},
                 {"running", e.end == kTimeMax}};
    if (e.end != kTimeMax) item["elapsed_ns"] = e.end - e.begin;
    item["cpu_ns"] = row.cost.cpu_ns;
    item["samples"] = row.cost.samples;
    item["rows"] = e.rows_known ? Json(e.rows) : Json();
    item["error"] = e.error;
    item["labels"] = labels;
    out.push_back(item);
  }
  return Json{{"executions", out}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

struct Options {
  Choice choice;
  std::size_t limit = 50;
};

int run(const Options& options) {
  const auto rows = choose_executions(options.choice, options.limit);
  if (!rows) return complain(rows.error());
  if (!options.choice.json && rows->empty()) return complain("no execution was recorded", kNothing);
  fmt::print("{}", options.choice.json ? rows_json(*rows) : render_rows(*rows, options.choice.terminal()));
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "The executions that were recorded, newest first");
  auto options = std::make_shared<Options>();
  command.add_option("file", options->choice.what, "A profile (.tailor file; default: the daemon's store)");
  command.add_option("-n,--limit", options->limit, "How many at most")->capture_default_str();
  command.add_option("--store", options->choice.store, "The directory of the store");
  command.add_flag("--json", options->choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", options->choice.ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tailor::cli
