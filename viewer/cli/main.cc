// `tailor`: the command line.
#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/query/reports/no_such.h"
#include "daemon/query/symbols/debuginfod.h"
#include "daemon/query/symbols/symbol_cache.h"
#include "daemon/serve/error_json.h"
#include "proto/base/errors.h"
#include "viewer/cli/command.h"
#include "viewer/cli/installed.h"
#include "viewer/cli/pager.h"
#include "viewer/cli/perf_words.h"
#include "viewer/cli/text.h"

namespace tailor::cli {
namespace {

Pager* pager_of_this_run = nullptr;  // NULL: the command's output is not for one

}  // namespace

void open_pager(std::size_t line) {
  if (pager_of_this_run != nullptr) pager_of_this_run->start(line);
}

int complain(const Error& error) {
  warn(error.message);
  return serve::exit_code(error.kind);
}

void warn(const std::string& message) {
  fmt::print(stderr, "tailor: {}\n", escape(with_document_paths(message), false));
}

void print_json(const std::string& json) {
  fmt::print("{}", Terminal::detect().is_terminal ? harmless_json(json) : json);
}

void print_text(const std::string& text, const Terminal& terminal) {
  fmt::print("{}", fit(text, terminal.width, terminal.ascii));
}

int nothing_to_show() {
  return serve::exit_code(ErrorKind::kNotFound);
}

namespace {

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  std::ranges::sort(names);
  return names;
}

Error no_such_command(const std::string& name, const std::vector<std::string>& commands) {
  const std::string_view instead = instead_of_perf_command(name);
  if (!instead.empty()) return invalid(fmt::format("{} is a command of perf: {}", name, instead));
  return query::no_such("command", name, commands);
}

// Commands whose output may be longer than a screen, and is for people.
bool is_paged(const CLI::App& app) {
  static const std::vector<std::string> kPaged = {"ab",     "annotate", "diff",       "doctor",
                                                  "events", "flame",    "iterations", "list",
                                                  "memory", "report",   "sql",        "timeline"};
  const auto chosen = app.get_subcommands();
  if (chosen.empty() || !std::ranges::binary_search(kPaged, chosen.front()->get_name())) return false;
  const CLI::Option* json = chosen.front()->get_option_no_throw("--json");
  return json == nullptr || json->count() == 0;
}

// Commands that make a report here, of what was recorded. A recording, and what goes on beside one, asks no
// server for files.
bool asks_for_debug_files(const std::string& command) {
  static const std::vector<std::string> kReports = {"annotate",   "diff",   "doctor", "export", "flame",
                                                    "iterations", "memory", "report", "sql",    "timeline"};
  return std::ranges::binary_search(kReports, command);
}

// What was printed may not have been written yet: a disk may be full.
int all_written(int code) {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0 && std::cout.good()) return code;
  const int why = errno;  // 0: an earlier write failed
  const int failed =
      complain(os_error(why == 0 ? std::string("cannot write standard output")
                                 : fmt::format("cannot write standard output: {}", std::strerror(why)),
                        why == 0 ? EIO : why));
  return code == kOk ? failed : code;
}

int run(int argc, char** argv) {
  CLI::App app{"Shows where a running query engine spends its time, by the operators of its query plans."};
  app.name("tailor");
  app.set_version_flag("--version", "tailor " TAILOR_VERSION);
  app.require_subcommand(1);
  app.footer(
      "Exit codes: 0 done, 1 failed, 2 wrong command line, 3 not found or nothing to show, 4 a condition of "
      "--fail-if holds, 5 it cannot be judged.\n"
      "DEBUGINFOD_URLS: servers that reports ask for debug files, by build id; nothing else asks them.");
  Action action;
  add_record(app, action);
  add_report(app, action);
  add_annotate(app, action);
  add_timeline(app, action);
  add_flame(app, action);
  add_memory(app, action);
  add_diff(app, action);
  add_sql(app, action);
  add_iterations(app, action);
  add_import(app, action);
  add_export(app, action);
  add_list(app, action);
  add_replay(app, action);
  add_events(app, action);
  add_status(app, action);
  add_doctor(app, action);
  add_bugreport(app, action);
  add_top(app, action);
  add_pause(app, action);
  add_rate(app, action);
  add_ab(app, action);
  add_web(app, action);
  app.add_subcommand("version", "Prints the version")->callback([&action] {
    action = [] {
      fmt::print("tailor {}\n", TAILOR_VERSION);
      return static_cast<int>(kOk);
    };
  });
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    add_perf_words(*command);
  // CLI11 would only say that the word was not expected.
  const auto commands = command_names(app);
  if (argc > 1 && argv[1][0] != '-' && !std::ranges::binary_search(commands, std::string(argv[1])))
    return complain(no_such_command(argv[1], commands));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::ostringstream said;
    const bool good = app.exit(error, std::cout, said) == 0;
    std::istringstream lines(said.str());
    for (std::string line; std::getline(lines, line);) warn(line);
    return all_written(good ? kOk : serve::exit_code(ErrorKind::kInvalid));
  }
  Terminal::detect();
  Pager pager;
  if (is_paged(app)) pager_of_this_run = &pager;
  const std::string command = app.get_subcommands().front()->get_name();
  if (asks_for_debug_files(command)) query::use_debug_finder(query::Debuginfod::of_environment());
  // A listing opens its own at the line that cost most.
  if (command != "annotate") open_pager(0);
  const int code = action();
  pager_of_this_run = nullptr;
  return pager.runs() ? code : all_written(code);
}

// The samples of a block take 13 MB, one block after the other. To get such memory from the kernel anew, and
// to give it back, takes more than half of the time in which a profile is read.
void keep_memory_between_blocks() {
  ::mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most there may be
  ::mallopt(M_TRIM_THRESHOLD, 256 << 20);
}

}  // namespace
}  // namespace tailor::cli

int main(int argc, char** argv) {
  tailor::cli::keep_memory_between_blocks();
  try {
    tailor::query::use_symbol_cache(tailor::query::SymbolCache::of_user());
    return tailor::cli::run(argc, argv);
  } catch (const std::exception& problem) {
    return tailor::cli::complain(tailor::internal(problem.what()));
  }
}
