#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/query/keys.h"
#include "daemon/query/wall_time.h"
#include "daemon/serve/filter_text.h"
#include "daemon/serve/fingerprint.h"
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

std::string render_rows(const serve::ExecutionList& list, std::uint64_t now_ns, const Terminal& terminal) {
  const std::vector<store::ExecutionRow>& rows = list.rows;
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
        "{:<19}  {}  {}  {}{}{}  {}  ", query::local_time(row.wall_begin_ns, now_ns),
        query::hex(e.id).substr(0, 12), pad_left(elapsed_text(e), 9), pad_left(duration(row.cost.cpu_ns), 9),
        pad_left(grouped(row.cost.samples), samples), pad_left(e.rows_known ? grouped(e.rows) : "?", counts),
        pad(cut(who_text(e, terminal.ascii), 12, terminal.ascii), 12));
    const std::size_t used = columns(line);
    line += cut(query, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  if (list.more) out += terminal.dim("... more, older ones (--limit, --until)") + "\n";
  return out;
}

std::string rows_json(const serve::ExecutionList& list) {
  using Json = nlohmann::ordered_json;
  Json out = Json::array();
  for (const store::ExecutionRow& row : list.rows) {
    const profile::ExecutionRecord& e = row.record;
    Json labels = Json::object();
    for (const auto& [key, value] : e.labels) labels[key] = value;
    Json item = {{"id", query::hex(e.id)},
                 {"pid", e.process.pid},
                 {"process_start", e.process.start},
                 {"comm", row.comm},
                 {"engine", row.engine},
                 {"plan", e.plan},
                 {"plan_name", row.plan_name},
                 {"fingerprint", serve::fingerprint_of(row)},
                 {"began_wall_ns", row.wall_begin_ns}};
    item["began"] = row.wall_begin_ns == 0 ? Json() : Json(query::rfc3339(row.wall_begin_ns));
    item["running"] = e.end == kTimeMax;
    if (e.end != kTimeMax) item["elapsed_ns"] = e.end - e.begin;
    item["cpu_ns"] = row.cost.cpu_ns;
    item["samples"] = row.cost.samples;
    item["rows"] = e.rows_known ? Json(e.rows) : Json();
    item["error"] = e.error;
    item["labels"] = labels;
    out.push_back(item);
  }
  return Json{{"executions", out}, {"more", list.more}}.dump(2, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

struct Options {
  Choice choice;
  std::size_t limit = 50;
};

int run(const Options& options) {
  const std::uint64_t now_ns = query::wall_clock_ns();
  auto filter = execution_filter(options.choice.filter, now_ns);
  if (!filter) return complain(filter.error());
  filter->limit = options.limit;
  const auto list = choose_executions(options.choice, *filter);
  if (!list) return complain(list.error());
  if (!options.choice.json && list->rows.empty()) {
    const std::string which = serve::filter_text(*filter);
    return complain(
        not_found(which.empty() ? "no execution was recorded" : "no execution was recorded that " + which));
  }
  fmt::print("{}",
             options.choice.json ? rows_json(*list) : render_rows(*list, now_ns, options.choice.terminal()));
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "The executions that were recorded, newest first");
  auto options = std::make_shared<Options>();
  command.add_option("file", options->choice.what, "A profile (.tailor file; default: the daemon's store)");
  add_filter(command, options->choice.filter);
  command.add_option("-n,--limit", options->limit, "How many executions at most")->capture_default_str();
  command.add_option("--store", options->choice.store, "The directory of the store");
  command.add_flag("--json", options->choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", options->choice.ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace tailor::cli
