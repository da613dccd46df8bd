#include "compiler/weft/tool/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <fstream>
#include <sstream>
#include <thread>

#include "compiler/weft/storage/tpch_loader.h"
#include "compiler/weft/tool/query_library.h"
#include "compiler/weft/tool/statement.h"
#include "compiler/weft/workflow/workflow_library.h"

namespace tailor::weft {
namespace {

struct RawOptions {
  std::string text;
  std::string file;
  std::vector<int> tpch;
  std::vector<std::string> names;
  std::vector<std::string> labels;
  std::vector<std::string> settings;
  int level = 2;
  CLI::Option* level_option = nullptr;
  bool tiered = false;
  std::uint64_t memory_mib = 8192;
  bool json = false;
  bool csv = false;
  std::string tags = "r15";
  bool no_lineage = false;
  bool analyze = false;
};

void add_options(CLI::App& app, CommandLine& out, RawOptions& raw) {
  out.threads = std::max(1u, std::thread::hardware_concurrency());
  app.add_option("-c,--command", raw.text, "run this query, or several separated by semicolons");
  app.add_option("-f,--file", raw.file, "run the queries in this file, separated by semicolons");
  app.add_option("--tpch", raw.tpch, "run a query of TPC-H")->check(CLI::Range(1, 22));
  app.add_option(
      "--query", raw.names,
      "run a query that comes with weft: tpch-1 ... tpch-22, figure-9, figure-10a, figure-10b, sfja");
  app.add_option("--data", out.data,
                 "folder of table files (default: TPC-H tables in " + default_data_directory() + ")");
  app.add_option("--sf", out.scale_factor, "scale factor of the TPC-H tables")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--threads", out.threads, "number of threads of a query")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app.add_option("--repeat", out.repeat, "executions of each query")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--concurrent", out.concurrent, "sessions that execute at once")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  raw.level_option =
      app.add_option("--opt", raw.level,
                     "generate code of this optimisation level only (default: first level 0, then level 2)")
          ->check(CLI::Range(0, 3));
  app.add_option("--kept-plans", out.kept_plans,
                 "number of compiled queries that are kept for a text that comes again")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--memory-limit", raw.memory_mib, "MiB of memory that a query may use")
      ->capture_default_str();
  app.add_option("--label", raw.labels,
                 "label of the executions, key=value (user, database, application, trace_id, span_id ...)");
  app.add_flag("--instrument", out.instrument,
               "count cycles per operator in generated code; with --timing-json");
  app.add_flag("--count-rows", out.count_rows,
               "count the rows that each operator passes on: profiles have them beside the estimates. This "
               "costs one addition a row");
  app.add_flag("--tiered", raw.tiered,
               "with --opt: run unoptimised code until the code of that level is ready");
  app.add_option(
         "--tags", raw.tags,
         "where the tag is kept while shared code runs: r15, swiftself (r13), slot (memory), or none (call "
         "stacks only)")
      ->check(CLI::IsMember({"r15", "swiftself", "slot", "none"}))
      ->capture_default_str();
  app.add_flag("--no-lineage", raw.no_lineage,
               "generate code without lineage; calls that LLVM inserts then run without a tag");
  app.add_option("--clang", out.workflow.clang,
                 "clang that compiles the functions of a workflow (default: clang 19 where it is found)");
  app.add_option("--set", raw.settings, "value of a constant of a workflow, name=number");
  app.add_flag("--perf-map", out.perf_map, "name generated code for perf in /tmp/perf-PID.map");
  app.add_option("--jitdump", out.jitdump,
                 "write names, times, code and IR lines for perf to jit-PID.dump in this folder");
  app.add_flag("--gdb", out.gdb, "name generated code for gdb");
  app.add_flag("--json", raw.json, "print rows as JSON");
  app.add_flag("--csv", raw.csv, "print rows as CSV");
  app.add_flag("-q,--quiet", out.quiet, "print no rows");
  app.add_flag("--timing", out.timing, "print times to the error stream");
  app.add_option("--timing-json", out.timing_json,
                 "write times as JSON to this file (- for standard output)");
}

Status read_settings(const std::vector<std::string>& raw, CommandLine& out) {
  for (const std::string& setting : raw) {
    const std::size_t equals = setting.find('=');
    std::int64_t value = 0;
    const char* end = setting.data() + setting.size();
    const bool named = equals != std::string::npos && equals > 0;
    const auto read = named ? std::from_chars(setting.data() + equals + 1, end, value)
                            : std::from_chars_result{end, std::errc::invalid_argument};
    if (read.ec != std::errc() || read.ptr != end)
      return invalid(
          fmt::format("setting '{}' is not of the form name=number, with a whole number", setting));
    out.workflow.settings[setting.substr(0, equals)] = value;
  }
  return Ok{};
}

jit::TagStrategy tags_named(const std::string& name) {
  if (name == "r15") return jit::TagStrategy::kR15;
  if (name == "swiftself") return jit::TagStrategy::kSwiftSelf;
  return name == "slot" ? jit::TagStrategy::kMemorySlot : jit::TagStrategy::kNone;
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream in(path);
  std::ostringstream text;
  if (!in || !(text << in.rdbuf())) return not_found(fmt::format("cannot read {}", path));
  return text.str();
}

// The name of a text given by the user: its first words.
std::string short_name(std::string text) {
  std::replace_if(text.begin(), text.end(), [](unsigned char c) { return std::isspace(c); }, ' ');
  std::size_t begin = std::min(text.find_first_not_of(' '), text.size());
  return text.substr(begin, 40);
}

Status collect_queries(const RawOptions& raw, CommandLine& out) {
  for (const QueryText& sql : raw.text.empty() ? std::vector<QueryText>() : split_statements(raw.text))
    out.queries.emplace_back(short_name(sql.text), sql);
  if (!raw.file.empty()) {
    Result<std::string> text = read_file(raw.file);
    if (!text.ok()) return std::move(text).error();
    std::string name = raw.file.substr(raw.file.rfind('/') + 1);
    std::vector<QueryText> statements = split_statements(*text);
    for (std::size_t i = 0; i < statements.size(); ++i)
      out.queries.emplace_back(statements.size() == 1 ? name : fmt::format("{} #{}", name, i + 1),
                               statements[i]);
  }
  std::vector<std::string> names = raw.names;
  for (int number : raw.tpch) names.push_back(fmt::format("tpch-{}", number));
  for (const std::string& name : names) {
    const NamedQuery* query = find_query(name);
    if (query == nullptr) return not_found(fmt::format("there is no query named {}", name));
    out.queries.emplace_back(query->name, std::string(query->sql));
  }
  return Ok{};
}

}  // namespace

Result<CommandLine> parse_command_line(int argc, char** argv) {
  CommandLine out;
  RawOptions raw;
  CLI::App app(
      "weft, the reference engine of Tailor: compiles SQL to machine code and says what every instruction is "
      "for.",
      "weft");
  app.fallthrough();
  add_options(app, out, raw);
  CLI::App* load = app.add_subcommand("load-tpch", "generate and store the TPC-H tables of a scale factor");
  CLI::App* csv = app.add_subcommand("load-csv", "store a CSV file as a table of the folder given by --data");
  csv->add_option("file", out.csv.path, "the CSV file")->required();
  csv->add_option("--table", out.csv.table, "name of the table (default: the name of the file)");
  csv->add_option("--delimiter", out.csv.delimiter, "character between two fields")->capture_default_str();
  csv->add_flag("!--no-header", out.csv.header, "the file has no header: its first line is a row");
  CLI::App* explain = app.add_subcommand(
      "explain", "print the plan and do not run the query; 'explain' before a query's text does the same");
  auto* levels =
      explain->add_flag("--levels", out.levels,
                        "also print pipelines, tasks, IR and machine code, side by side (--json: as JSON)");
  explain
      ->add_flag("--analyze", raw.analyze,
                 "run the query or the workflow, --repeat times, and print what tailord measured beside the "
                 "estimates; 'explain analyze' before a query's text does the same")
      ->excludes(levels);
  explain->add_option("--workflow", out.workflow.file,
                      "explain this workflow: a file, or one that comes with weft");
  CLI::App* flow = app.add_subcommand(
      "workflow", "run a workflow of user-defined functions; 'weft workflow compile' keeps it as bitcode");
  flow->add_option(
      "file", out.workflow.file,
      fmt::format("the workflow's file, or one that comes with weft: {}", workflow::library_names()));
  CLI::App* compile = flow->add_subcommand(
      "compile", "write the workflow with its functions as bitcode, so that it runs without clang");
  compile->add_option("file", out.workflow.file, "the workflow's file, or one that comes with weft")
      ->required();
  compile->add_option("--to", out.workflow.folder, "folder for what is written")->required();
  app.add_subcommand("help", "print this help");
  // CLI11 would print the help of the subcommand.
  bool help = argc > 1 && std::string_view(argv[1]) == "help";
  try {
    if (help) throw CLI::CallForHelp();
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  out.level = static_cast<jit::OptLevel>(raw.level);
  out.tiered = raw.tiered || raw.level_option->empty();
  out.memory_limit = raw.memory_mib << 20;
  out.tags = tags_named(raw.tags);
  out.lineage = !raw.no_lineage;
  if (raw.json) out.format = ResultFormat::kJson;
  if (raw.csv) out.format = ResultFormat::kCsv;
  for (const std::string& label : raw.labels) {
    std::size_t equals = label.find('=');
    if (equals == std::string::npos)
      return invalid(fmt::format("label '{}' is not of the form key=value", label));
    out.labels.emplace_back(label.substr(0, equals), label.substr(equals + 1));
  }
  if (Status status = read_settings(raw.settings, out); !status.ok()) return std::move(status).error();
  if (Status status = collect_queries(raw, out); !status.ok()) return std::move(status).error();
  if (load->parsed()) {
    out.command = CommandLine::Command::kLoadTpch;
  } else if (csv->parsed()) {
    out.command = CommandLine::Command::kLoadCsv;
    out.csv.threads = out.threads;
    out.csv.directory = out.data;
    if (out.data.empty()) return invalid("load-csv needs --data FOLDER, where the table goes");
  } else if (compile->parsed()) {
    out.command = CommandLine::Command::kCompileWorkflow;
    if (!out.workflow.settings.empty())
      return invalid(
          "--set is for running a workflow: what 'workflow compile' keeps has its constants as they are "
          "written, and takes --set when it runs");
  } else if (flow->parsed()) {
    out.command = CommandLine::Command::kWorkflow;
    if (out.workflow.file.empty())
      return invalid("workflow needs a file, or the name of one that comes with weft: " +
                     workflow::library_names());
  } else if (explain->parsed() && !out.workflow.file.empty()) {
    out.command =
        raw.analyze ? CommandLine::Command::kAnalyzeWorkflow : CommandLine::Command::kExplainWorkflow;
    if (out.levels && out.format != ResultFormat::kJson)
      return invalid("explain --workflow --levels is given as JSON only: add --json");
  } else if (explain->parsed()) {
    out.command = raw.analyze ? CommandLine::Command::kExplainAnalyze : CommandLine::Command::kExplain;
    if (out.queries.empty())
      return invalid(
          "explain needs a query: --command TEXT, --file FILE, --query NAME or --tpch NUMBER (or --workflow "
          "FILE)");
  } else if (!out.queries.empty()) {
    out.command = CommandLine::Command::kRun;
  }
  if (out.workflow.file.empty() && !out.workflow.settings.empty())
    return invalid("--set is for workflows: weft workflow FILE --set NAME=NUMBER");
  return out;
}

}  // namespace tailor::weft
