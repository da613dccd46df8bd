#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cell.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/execution_groups.h"
#include "daemon/serve/file_state.h"
#include "daemon/serve/filter_text.h"
#include "daemon/serve/plan_changes.h"
#include "daemon/serve/service.h"
#include "daemon/serve/views.h"
#include "daemon/store/catalogue_budget.h"
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

// Of runs that are added up, how long one takes on average.
std::string elapsed_text(const profile::ExecutionRecord& e) {
  if (e.end == kTimeMax) return "running";
  if (profile::is_untimed(e)) return "?";
  if (e.added != nullptr) {
    const auto runs = static_cast<double>(e.added->runs);
    return e.added->runs == 0 ? "?" : duration(static_cast<double>(e.added->elapsed_sum) / runs);
  }
  return e.end < e.begin ? "?" : duration(static_cast<double>(e.end - e.begin));
}

// "1,204 runs, at most 3.1 ms; ", and "" for an execution that is one run.
std::string runs_text(const profile::ExecutionRecord& e) {
  if (profile::is_untimed(e)) return "runs added up, not known how many; ";
  if (e.added == nullptr) return {};
  const profile::AddedRuns& added = *e.added;
  std::string out = grouped(added.runs) + (added.runs == 1 ? " run" : " runs");
  if (added.failed > 0) out += fmt::format(" ({} failed)", grouped(added.failed));
  if (added.runs > 0) out += ", at most " + duration(static_cast<double>(added.elapsed_max));
  return out + "; ";
}

std::string who_text(const profile::ExecutionRecord& e, bool ascii) {
  std::string out;
  for (const char* key : {"user", "database", "application"}) {
    const std::string value = label(e, key);
    if (!value.empty()) out += (out.empty() ? "" : "/") + escape_line(value, ascii);
  }
  return out;
}

// A table whose last column, mostly the query, has the rest of the line. A narrow terminal has the first
// columns only that are worth their room.
class ListTable {
 public:
  explicit ListTable(const Terminal& terminal, std::string_view last = "query")
      : terminal_(terminal), last_(last) {}

  // Shown on terminals of `least` columns or more. Text begins on the left, numbers end on the right.
  void add(std::string_view title, std::size_t width, std::size_t least, bool number) {
    columns_.push_back({title, width, number, terminal_.width >= least});
  }

  std::string heading() const {
    std::vector<std::string> titles;
    for (const Column& column : columns_) titles.emplace_back(column.title);
    return terminal_.dim(line(titles, std::string(last_))) + "\n";
  }

  // `last`, what the last column has, is escaped.
  std::string row(const std::vector<std::string>& cells, const std::string& last) const {
    return line(cells, last) + "\n";
  }

 private:
  struct Column {
    std::string_view title;
    std::size_t width;
    bool number, shown;
  };

  std::string line(const std::vector<std::string>& cells, const std::string& last) const {
    std::string out;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column& column = columns_[i];
      if (!column.shown) continue;
      out += column.number ? pad_left(cells[i], column.width)
                           : pad(cut(cells[i], column.width, terminal_.ascii), column.width);
      out += "  ";
    }
    const std::size_t used = cli::columns(out);
    out += cut(last, terminal_.width > used + 10 ? terminal_.width - used : 10, terminal_.ascii);
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

  const Terminal& terminal_;
  const std::string_view last_;  // the title of the last column
  std::vector<Column> columns_;
};

std::string query_text(const std::string& name, const std::string& sql, bool ascii) {
  std::string query = escape_line(name, ascii);
  const std::string text = sql_line(sql, ascii);
  if (!text.empty()) query += (query.empty() ? "" : ": ") + text;
  return query;
}

// "997 Hz (trigger slow): "; what exactly held is in reports and in JSON. "": it was sampled as configured.
std::string raised_text(const store::ExecutionRow& row, bool ascii) {
  if (row.frequency == 0) return {};
  return fmt::format("{} Hz ({}): ", row.frequency,
                     escape_line(row.rate_why.substr(0, row.rate_why.find(": ")), ascii));
}

std::string render_rows(const serve::ExecutionList& list, std::uint64_t now_ns, const Terminal& terminal) {
  const std::vector<store::ExecutionRow>& rows = list.rows;
  double most_samples = 0, most_rows = 0;
  for (const store::ExecutionRow& row : rows) {
    most_samples = std::max(most_samples, static_cast<double>(row.cost.samples));
    if (row.record.rows_known && row.record.end != kTimeMax)
      most_rows = std::max(most_rows, static_cast<double>(row.record.rows));
  }
  ListTable table(terminal);
  table.add("began", 19, 72, false);
  table.add("execution", 12, 0, false);
  table.add("elapsed", 9, 50, true);
  table.add("CPU", 9, 0, true);
  table.add("samples", number_width(most_samples, 10) - 2, 84, true);
  table.add("rows", number_width(most_rows, 12) - 2, 96, true);
  table.add("who", 12, 110, false);
  std::string out = table.heading();
  for (const store::ExecutionRow& row : rows) {
    const profile::ExecutionRecord& e = row.record;
    std::string query = runs_text(e) + query_text(row.plan_name, label(e, "query"), terminal.ascii);
    query.insert(0, raised_text(row, terminal.ascii));
    if (!e.error.empty()) query = fmt::format("failed: {}; {}", escape_line(e.error, terminal.ascii), query);
    out += table.row(
        {query::local_time(row.wall_begin_ns, now_ns), query::hex(e.id).substr(0, 12), elapsed_text(e),
         e.drawn ? duration(row.cost.cpu_ns) : "not drawn", e.drawn ? grouped(row.cost.samples) : "",
         e.rows_known && e.end != kTimeMax ? grouped(e.rows) : "?", who_text(e, terminal.ascii)},
        query);
  }
  if (list.more) out += terminal.dim("... more, older ones (--limit, --until)") + "\n";
  return out;
}

// Where a share of the executions is sampled, nobody knows what the others cost.
std::string cost_text(double cpu_ns, std::uint64_t drawn, std::uint64_t executions,
                      const Terminal& terminal) {
  const std::string text = duration(cpu_ns);
  return drawn < executions ? at_least(text, terminal.ascii) : text;
}

double mean_elapsed(const store::RunSum& runs) {
  if (runs.timed() == 0) return 0;
  return static_cast<double>(runs.elapsed_sum) / static_cast<double>(runs.timed());
}

// What stays of executions whose samples are gone, by hour and query.
std::string render_gone(const serve::GoneList& gone, std::uint64_t now_ns, const Terminal& terminal) {
  if (gone.rows.empty()) return {};
  double most_runs = 0, most_samples = 0;
  for (const serve::GoneRow& row : gone.rows) {
    most_runs = std::max(most_runs, static_cast<double>(row.runs.executions));
    most_samples = std::max(most_samples, store::to_number(row.cpu.samples));
  }
  ListTable table(terminal);
  table.add("hour from", 19, 76, false);
  table.add("fingerprint", 16, 0, false);
  table.add("ended", number_width(most_runs, 9) - 2, 60, true);
  table.add("failed", 7, 120, true);
  table.add("elapsed", 9, 90, true);
  table.add("CPU", 9, 0, true);
  table.add("samples", number_width(most_samples, 10) - 2, 100, true);
  std::string out =
      terminal.dim("Samples deleted: sums of the executions that ended in the hour, or the day of old ones") +
      "\n" + table.heading();
  for (const serve::GoneRow& row : gone.rows) {
    out += table.row(
        {query::local_time(static_cast<std::uint64_t>(row.hour) * store::kHourNs, now_ns),
         escape_line(row.fingerprint, terminal.ascii), grouped(row.runs.executions), grouped(row.runs.failed),
         row.runs.timed() == 0 ? "?" : duration(mean_elapsed(row.runs)),
         cost_text(store::to_number(row.cpu.weight), row.runs.sampled(), row.runs.executions, terminal),
         grouped(static_cast<std::uint64_t>(std::llround(store::to_number(row.cpu.samples))))},
        query_text(row.names.name, row.names.text, terminal.ascii));
  }
  const char* more = "... more, older ones (--limit, --until, or tailor report --by hour)";
  return gone.more ? out + terminal.dim(more) + "\n" : out;
}

// What is missing in the list.
std::string render_removed(const std::vector<store::RemovedOfUser>& removed, std::uint64_t now_ns,
                           const Terminal& terminal) {
  std::string out;
  for (const store::RemovedOfUser& each : removed) {
    out += terminal.warn(fmt::format(
        "{} executions of {} were removed since {}: the catalogue is at its limit\n",
        grouped(each.executions), store::user_text(each.uid), query::local_time(each.first_ns, now_ns)));
  }
  return out;
}

// Each change between the last execution by the old plan and the first one by the new one.
std::string render_plan_changes(const serve::PlanChangeList& list, std::uint64_t now_ns,
                                const Terminal& terminal) {
  std::string out;
  if (!list.changes.empty()) {
    ListTable table(terminal);
    table.add("began", 19, 72, false);
    table.add("fingerprint", 16, 0, false);
    table.add("execution", 12, 0, false);
    table.add("before", 12, 50, false);
    out += table.heading();
    for (const serve::PlanChange& change : list.changes) {
      const store::ExecutionRow& after = change.after;
      out += table.row(
          {query::local_time(after.wall_begin_ns, now_ns), escape_line(change.fingerprint, terminal.ascii),
           query::hex(after.record.id).substr(0, 12), query::hex(change.before.record.id).substr(0, 12)},
          query_text(after.plan_name, label(after.record, "query"), terminal.ascii));
    }
  }
  if (list.more) out += terminal.dim("... more, older ones (--limit, --until)") + "\n";
  if (list.without_plan > 0)
    out += terminal.dim(fmt::format("{} {} not compared: the plan is not known", grouped(list.without_plan),
                                    list.without_plan == 1 ? "execution was" : "executions were")) +
           "\n";
  if (list.cut)
    out += terminal.dim(fmt::format("Only the newest {} executions were looked at (--until shows older ones)",
                                    grouped(serve::kMostComparedRuns))) +
           "\n";
  return out;
}

std::string render_groups(const std::vector<serve::ExecutionGroup>& groups, serve::GroupBy by,
                          std::size_t limit, std::uint64_t now_ns, const Terminal& terminal) {
  double most_runs = 0, most_samples = 0;
  for (const serve::ExecutionGroup& group : groups) {
    most_runs = std::max(most_runs, static_cast<double>(group.executions));
    most_samples = std::max(most_samples, static_cast<double>(group.samples));
  }
  ListTable table(terminal, serve::name_of(by));
  table.add("last began", 19, 84, false);
  table.add("executions", number_width(most_runs, 12) - 2, 0, true);
  table.add("failed", 7, 96, true);
  table.add("elapsed", 9, 72, true);
  table.add("CPU", 9, 0, true);
  table.add("samples", number_width(most_samples, 10) - 2, 60, true);
  std::string out = table.heading();
  for (std::size_t i = 0; i < std::min(limit, groups.size()); ++i) {
    const serve::ExecutionGroup& group = groups[i];
    out += table.row(
        {query::local_time(group.last_wall_ns, now_ns), grouped(group.executions), grouped(group.failed),
         group.ended == 0 ? "?" : duration(group.elapsed_ns / static_cast<double>(group.ended)),
         cost_text(group.cpu_ns, group.drawn, group.executions, terminal), grouped(group.samples)},
        group.name.empty() ? fmt::format("(no {} is known)", serve::name_of(by))
                           : escape_line(group.name, terminal.ascii));
  }
  if (groups.size() > limit) out += terminal.dim("... more, with less CPU time (--limit)") + "\n";
  return out;
}

// What is in no group, or in no elapsed time of one.
std::string render_no_group(const std::vector<serve::ExecutionGroup>& groups, const serve::GoneSum& gone,
                            serve::GroupBy by, std::uint64_t now_ns, const Terminal& terminal) {
  std::string out;
  std::uint64_t untimed = 0;
  for (const serve::ExecutionGroup& group : groups) profile::add_bounded(untimed, group.untimed);
  if (untimed > 0)
    out += terminal.dim(fmt::format("{} {} in no elapsed time: runs were added up, not known how many",
                                    grouped(untimed), untimed == 1 ? "execution is" : "executions are")) +
           "\n";
  if (gone.to_ns == 0) return out;
  const std::string text = fmt::format(
      "Samples deleted: {}{} executions from {} on, with {} of CPU time, are in no {} here (tailor list)",
      gone.more ? "more than " : "", grouped(gone.executions), query::local_time(gone.from_ns, now_ns),
      cost_text(store::to_number(gone.cpu.weight), gone.drawn, gone.executions, terminal),
      serve::name_of(by));
  return out + terminal.dim(text) + "\n";
}

struct ListOptions {
  Choice choice;
  std::size_t limit = 50;
  bool plan_changes = false;
  std::string by;  // empty: each execution has its own row
};

int list_groups(const ListOptions& options, const serve::ExecutionFilter& filter, std::uint64_t now_ns) {
  const serve::GroupBy by = options.by == "pod"         ? serve::GroupBy::kPod
                            : options.by == "container" ? serve::GroupBy::kContainer
                                                        : serve::GroupBy::kCgroup;
  const auto library = choose_library(options.choice);
  serve::Service service(*library, {});
  const auto groups = service.groups(filter, by, serve::Access::everything(), Stop());
  if (!groups) return complain(groups.error());
  const auto missing = service.not_in_groups(filter, serve::Access::everything(), Stop());
  if (!missing) return complain(missing.error());
  if (!options.choice.json && groups->empty() && missing->gone.to_ns == 0) {
    const std::string which = serve::filter_text(filter);
    return complain(
        not_found(which.empty() ? "no execution was recorded" : "no execution was recorded that " + which));
  }
  const store::WallRange range = range_of(filter);
  auto file = tell_unchecked(
      service.file_state_of_time(range, serve::kMostCheckedOfCommand, serve::Access::everything(), Stop()));
  if (!file) return complain(file.error());
  if (options.choice.json) {
    query::Json json = serve::groups_json(*groups, by, options.limit, *missing);
    json["file"] = std::move(*file);
    print_json(query::dump(json));
    return kOk;
  }
  const Terminal terminal = options.choice.terminal();
  if (!groups->empty()) print_text(render_groups(*groups, by, options.limit, now_ns, terminal), terminal);
  print_text(render_no_group(*groups, missing->gone, by, now_ns, terminal), terminal);
  print_text(render_removed(missing->removed, now_ns, terminal), terminal);
  return kOk;
}

int list_plan_changes(const ListOptions& options, const serve::ExecutionFilter& filter,
                      std::uint64_t now_ns) {
  const auto library = choose_library(options.choice);
  serve::Service service(*library, {});
  const auto list = service.plan_changes(filter, serve::Access::everything(), Stop());
  if (!list) return complain(list.error());
  if (options.choice.json) {
    print_json(query::dump(serve::plan_changes_json(*list)));
    return kOk;
  }
  const Terminal terminal = options.choice.terminal();
  const std::string text = render_plan_changes(*list, now_ns, terminal);
  if (list->changes.empty()) {
    fmt::print("No plan changed among {} executions.\n", grouped(list->executions));
  }
  print_text(text, terminal);
  return kOk;
}

int run_list(const ListOptions& options) {
  if (Status ok = refuse_store_of_file(options.choice); !ok) return complain(ok.error());
  const std::uint64_t now_ns = query::wall_clock_ns();
  auto filter = execution_filter(options.choice.filter, now_ns);
  if (!filter) return complain(filter.error());
  filter->limit = options.limit;
  if (options.plan_changes) return list_plan_changes(options, *filter, now_ns);
  if (!options.by.empty()) return list_groups(options, *filter, now_ns);
  const auto library = choose_library(options.choice);
  serve::Service service(*library, {});
  auto page = service.page(*filter, serve::kMostCheckedOfCommand, serve::Access::everything(), Stop());
  if (!page) return complain(page.error());
  const serve::ExecutionList& list = page->list;
  const serve::GoneList gone = page->gone.value_or(serve::GoneList{});
  if (!options.choice.json && list.rows.empty() && gone.rows.empty()) {
    const std::string which = serve::filter_text(*filter);
    return complain(
        not_found(which.empty() ? "no execution was recorded" : "no execution was recorded that " + which));
  }
  auto file = tell_unchecked(std::move(page->file));
  if (!file) return complain(file.error());
  if (options.choice.json) {
    print_json(query::dump(serve::list_json(list, gone, page->removed, std::move(*file))));
    return kOk;
  }
  const Terminal terminal = options.choice.terminal();
  if (!list.rows.empty()) print_text(render_rows(list, now_ns, terminal), terminal);
  if (!list.rows.empty() && !gone.rows.empty()) fmt::print("\n");
  print_text(render_gone(gone, now_ns, terminal), terminal);
  print_text(render_removed(page->removed, now_ns, terminal), terminal);
  return kOk;
}

}  // namespace

void add_list(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("list", "The executions that were recorded, newest first");
  auto options = std::make_shared<ListOptions>();
  command.add_option("file", options->choice.what, "A profile (.tailor file; default: the daemon's store)");
  add_filter(command, options->choice.filter);
  auto* changes =
      command.add_flag("--plan-changes", options->plan_changes,
                       "Executions that ran by another plan than the previous execution of their query");
  command
      .add_option("--by", options->by,
                  "Sums of the executions of each cgroup, pod or container instead, with most CPU time first")
      ->check(CLI::IsMember({"cgroup", "pod", "container"}))
      ->excludes(changes);
  command.add_option("-n,--limit", options->limit, "How many executions, changes or groups at most")
      ->capture_default_str();
  command.add_option("--store", options->choice.store, "The directory of the store");
  command.add_flag("--json", options->choice.json, "JSON instead of text (docs/report-json.md)");
  command.add_flag("--ascii", options->choice.ascii, "No characters outside ASCII");
  command.callback([options, &action] { action = [options] { return run_list(*options); }; });
}

}  // namespace tailor::cli
