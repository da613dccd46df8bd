#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "daemon/query/keys.h"
#include "daemon/query/wall_time.h"
#include "daemon/serve/filter_text.h"
#include "daemon/serve/views.h"
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
    if (!e.error.empty()) query = fmt::format("failed: {}; {}", escape_line(e.error, terminal.ascii), query);
    std::string line =
        fmt::format("{:<19}  {}  {}  {}{}{}  {}  ", query::local_time(row.wall_begin_ns, now_ns),
                    query::hex(e.id).substr(0, 12), pad_left(elapsed_text(e), 9),
                    pad_left(e.drawn ? duration(row.cost.cpu_ns) : "not", 9),
                    pad_left(e.drawn ? grouped(row.cost.samples) : "drawn", samples),
                    pad_left(e.rows_known ? grouped(e.rows) : "?", counts),
                    pad(cut(who_text(e, terminal.ascii), 12, terminal.ascii), 12));
    const std::size_t used = columns(line);
    line += cut(query, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  if (list.more) out += terminal.dim("... more, older ones (--limit, --until)") + "\n";
  return out;
}

double mean_elapsed(const store::RunSum& runs) {
  return runs.executions == 0 ? 0 : runs.elapsed_sum / static_cast<double>(runs.executions);
}

// What stays of executions whose samples are gone, by hour and query.
std::string render_gone(const serve::GoneList& gone, std::uint64_t now_ns, const Terminal& terminal) {
  if (gone.rows.empty()) return {};
  double most_runs = 0, most_samples = 0;
  for (const serve::GoneRow& row : gone.rows) {
    most_runs = std::max(most_runs, static_cast<double>(row.runs.executions));
    most_samples = std::max(most_samples, row.cpu.samples);
  }
  const std::size_t runs = number_width(most_runs, 9), samples = number_width(most_samples, 10);
  std::string out = terminal.dim("Samples deleted: sums of the executions that ended in the hour") + "\n" +
                    terminal.dim(fmt::format("{:<19}  {:<16}{}{:>9}  {:>9}  {:>9}{}  {}", "hour from",
                                             "fingerprint", pad_left("ended", runs), "failed", "elapsed",
                                             "CPU", pad_left("samples", samples), "query")) +
                    "\n";
  for (const serve::GoneRow& row : gone.rows) {
    std::string query = escape_line(row.names.name, terminal.ascii);
    const std::string text = sql_line(row.names.text, terminal.ascii);
    if (!text.empty()) query += (query.empty() ? "" : ": ") + text;
    std::string line =
        fmt::format("{:<19}  {}{}{:>9}  {}  {}{}  ",
                    query::local_time(static_cast<std::uint64_t>(row.hour) * store::kHourNs, now_ns),
                    pad(cut(escape_line(row.fingerprint, terminal.ascii), 16, terminal.ascii), 16),
                    pad_left(grouped(row.runs.executions), runs), grouped(row.runs.failed),
                    pad_left(row.runs.executions == 0 ? "?" : duration(mean_elapsed(row.runs)), 9),
                    pad_left(duration(row.cpu.weight), 9),
                    pad_left(grouped(static_cast<std::uint64_t>(std::llround(row.cpu.samples))), samples));
    const std::size_t used = columns(line);
    line += cut(query, terminal.width > used + 20 ? terminal.width - used : 20, terminal.ascii);
    while (line.ends_with(' ')) line.pop_back();
    out += line + "\n";
  }
  const char* more = "... more, older ones (--limit, --until, or tailor report --by hour)";
  return gone.more ? out + terminal.dim(more) + "\n" : out;
}

struct ListOptions {
  Choice choice;
  std::size_t limit = 50;
};

int run_list(const ListOptions& options) {
  const std::uint64_t now_ns = query::wall_clock_ns();
  auto filter = execution_filter(options.choice.filter, now_ns);
  if (!filter) return complain(filter.error());
  filter->limit = options.limit;
  const auto library = choose_library(options.choice);
  const auto list = library->executions(*filter, Stop());
  if (!list) return complain(list.error());
  Result<serve::GoneList> gone = serve::GoneList{};
  if (!list->more) gone = library->gone(*filter, {}, Stop());
  if (!gone) return complain(gone.error());
  if (!options.choice.json && list->rows.empty() && gone->rows.empty()) {
    const std::string which = serve::filter_text(*filter);
    return complain(
        not_found(which.empty() ? "no execution was recorded" : "no execution was recorded that " + which));
  }
  if (options.choice.json) {
    fmt::print("{}\n",
               serve::list_json(*list, *gone).dump(2, ' ', false, serve::Json::error_handler_t::replace));
    return kOk;
  }
  const Terminal terminal = options.choice.terminal();
  if (!list->rows.empty()) fmt::print("{}", render_rows(*list, now_ns, terminal));
  if (!list->rows.empty() && !gone->rows.empty()) fmt::print("\n");
  fmt::print("{}", render_gone(*gone, now_ns, terminal));
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "The executions that were recorded, newest first");
  auto options = std::make_shared<ListOptions>();
  command.add_option("file", options->choice.what, "A profile (.tailor file; default: the daemon's store)");
  add_filter(command, options->choice.filter);
  command.add_option("-n,--limit", options->limit, "How many executions at most")->capture_default_str();
  command.add_option("--store", options->choice.store, "The directory of the store");
  command.add_flag("--json", options->choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", options->choice.ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run_list(*options); }; });
}

}  // namespace tailor::cli
