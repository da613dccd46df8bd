#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "daemon/query/load/damage.h"
#include "daemon/query/time/wall_time.h"
#include "daemon/serve/service.h"
#include "viewer/cli/command.h"
#include "viewer/cli/execution_filter.h"
#include "viewer/cli/sql_tables.h"
#include "viewer/cli/text.h"
#include "viewer/cli/view_choice.h"

namespace tailor::cli {
namespace {

using Value = SqlTables::Value;

struct SqlOptions {
  ViewChoice view;
  std::string query;
  bool schema = false, csv = false;
};

std::string text_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return "";
    case Value::Kind::kInteger:
      return std::to_string(value.integer);
    case Value::Kind::kReal:
      return fmt::format("{:.6g}", value.real);
    case Value::Kind::kText:
      return value.text;
  }
  return "";
}

nlohmann::json json_of(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kNull:
      return nullptr;
    case Value::Kind::kInteger:
      return value.integer;
    case Value::Kind::kReal:
      return value.real;
    case Value::Kind::kText:
      return value.text;
  }
  return nullptr;
}

// RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of("\",\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

// Rows of CSV go out as they come. A table that people read needs to know its widths, and JSON must be whole.
class Output {
 public:
  Output(const SqlOptions& options, const Terminal& terminal) : options_(options), terminal_(terminal) {}

  void columns(const std::vector<std::string>& names) {
    names_ = names;
    if (options_.csv) csv_line(names);
    widths_.assign(names.size(), 0);
    right_.assign(names.size(), true);
    measure(names);
  }

  void row(const std::vector<Value>& values) {
    if (options_.view.choice.json) return json_row(values);
    std::vector<std::string> texts;
    for (const Value& value : values) texts.push_back(text_of(value));
    if (options_.csv) return csv_line(texts);
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (values[i].kind == Value::Kind::kText) right_[i] = false;
      texts[i] = escape_line(texts[i], terminal_.ascii);
    }
    measure(texts);
    rows_.push_back(std::move(texts));
  }

  void finish() const {
    if (options_.view.choice.json) print_json(fmt::format("[{}]\n", json_.empty() ? "" : json_ + "\n"));
    if (options_.csv || options_.view.choice.json) return;
    std::vector<std::string> names;
    for (const std::string& name : names_) names.push_back(escape_line(name, terminal_.ascii));
    fmt::print("{}\n", terminal_.bold(line(names)));
    for (const auto& each : rows_) fmt::print("{}\n", line(each));
  }

 private:
  void measure(const std::vector<std::string>& texts) {
    constexpr std::size_t kMostWidth = 60;
    for (std::size_t i = 0; i < texts.size(); ++i)
      widths_[i] =
          std::max(widths_[i], std::min(kMostWidth, cli::columns(escape_line(texts[i], terminal_.ascii))));
  }

  void json_row(const std::vector<Value>& values) {
    nlohmann::ordered_json object = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < values.size(); ++i) object[names_[i]] = json_of(values[i]);
    json_ += (json_.empty() ? "\n  " : ",\n  ") +
             object.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  }

  void csv_line(const std::vector<std::string>& fields) const {
    std::string out;
    bool first = true;
    for (const std::string& field : fields)
      out += (std::exchange(first, false) ? "" : ",") + csv_field(field);
    fmt::print("{}\r\n", terminal_.is_terminal ? escape(out, false) : out);
  }

  std::string line(const std::vector<std::string>& texts) const {
    std::string out;
    for (std::size_t i = 0; i < texts.size(); ++i) {
      const std::string text = cut(texts[i], widths_[i], terminal_.ascii);
      out += (i == 0 ? "" : "  ") + (right_[i] ? pad_left(text, widths_[i]) : pad(text, widths_[i]));
    }
    while (out.ends_with(' ')) out.pop_back();
    return out;
  }

  const SqlOptions& options_;
  const Terminal& terminal_;
  std::string json_;
  std::vector<std::string> names_;
  std::vector<std::size_t> widths_;
  std::vector<bool> right_;  // columns of numbers
  std::vector<std::vector<std::string>> rows_;
};

// Of the store, or of what --since, --until and --fingerprint say of it.
Result<SqlTables> history_tables(const SqlOptions& options) {
  const Choice& choice = options.view.choice;
  const bool of_samples =
      !choice.what.empty() || choice.has_last || !choice.execution.empty() ||
      choice.filter.need_executions() || !choice.process.empty() || !choice.source.empty() ||
      choice.from_ns || choice.to_ns || !choice.iteration.empty() || !choice.loop.empty() ||
      !choice.iterations_from.empty() || options.view.thread || options.view.pipeline || options.view.op;
  if (of_samples)
    return invalid(
        "the tables history_... are of the daemon's store; --since, --until and --fingerprint say what of "
        "it, and nothing else does");
  const auto filter = execution_filter(choice.filter, query::wall_clock_ns());
  if (!filter) return filter.error();
  const auto library = open_library(choice);
  serve::Service service(*library, {});
  query::StoreDamage damage;
  const auto sums = service.sums(range_of(*filter), serve::Access::everything(), Stop(), damage);
  if (!sums) return sums.error();
  return SqlTables::make(*sums, filter->fingerprint, damage);
}

Result<SqlTables> tables_for(const SqlOptions& options, const SqlTables::Reads& reads) {
  if (reads.history && reads.samples)
    return invalid(
        "the tables history_... are sums, and the others are of samples: ask each with its own statement");
  if (reads.history) return history_tables(options);
  auto view = open_view(options.view, reads.functions ? Needs::kActivityAndFunctions : Needs::kActivity);
  if (!view) return view.error();
  return SqlTables::make(*view, reads.functions);
}

int run_sql(SqlOptions options) {
  if (options.schema) {
    fmt::print("{}", SqlTables::schema());
    return kOk;
  }
  if (options.query.empty() && ::isatty(STDIN_FILENO) == 0)
    options.query.assign(std::istreambuf_iterator<char>(std::cin), {});
  if (options.query.empty())
    return complain(
        invalid("there is no SQL: give it with -q, or on standard input; --schema shows the tables"));
  const auto reads = SqlTables::reads(options.query);
  if (!reads) return complain(reads.error());
  const auto tables = tables_for(options, *reads);
  if (!tables) return complain(tables.error());
  const Terminal terminal = options.view.choice.terminal();
  Output output(options, terminal);
  const Status done =
      tables->query(options.query, {[&](const std::vector<std::string>& names) { output.columns(names); },
                                    [&](const std::vector<Value>& values) { output.row(values); }});
  if (!done.ok()) return complain(done.error());
  output.finish();
  return kOk;
}

}  // namespace

void add_sql(CLI::App& app, Action& action) {
  CLI::App& command = *app.add_subcommand("sql", "Answers an SQL query on the samples");
  auto options = std::make_shared<SqlOptions>();
  add_view_choice(command, options->view);
  command.add_option("-q,--query", options->query, "One SELECT of SQLite (default: standard input)")
      ->type_name("SQL");
  CLI::Option* schema = command.add_flag("--schema", options->schema, "Prints the tables and their columns");
  CLI::Option* csv = command.add_flag("--csv", options->csv, "Comma-separated values instead of a table");
  csv->excludes(command.get_option("--json"))->excludes(schema);
  schema->excludes(command.get_option("--query"))->excludes(command.get_option("--json"));
  command.callback([options, &action] { action = [options] { return run_sql(*options); }; });
}

}  // namespace tailor::cli
