// What the subcommands of `tailor` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "proto/base/result.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Exit codes, documented in docs/cli.md. `tailor record` gives that of the recorded command instead of kOk.
enum ExitCode : int {
  kOk = 0,
  kFailed = 1,          // could not be done; standard error says why
  kUsage = 2,           // the command line is wrong
  kNothing = 3,         // done, but there is nothing to show
  kConditionHolds = 4,  // `tailor diff --fail-if`: a condition holds
};

// Prints "tailor: <message>" to standard error, with hostile characters escaped, and returns `code`.
int complain(const std::string& message, int code = kFailed);
// The same; kUsage where a name was wrong.
int complain(const Error& error, int code = kFailed);

// Set by the callback of the chosen subcommand.
using Action = std::function<int()>;

void add_report(CLI::App& app, Action& action);
void add_annotate(CLI::App& app, Action& action);
void add_iterations(CLI::App& app, Action& action);
void add_import(CLI::App& app, Action& action);
void add_export(CLI::App& app, Action& action);
void add_timeline(CLI::App& app, Action& action);
void add_memory(CLI::App& app, Action& action);
void add_flame(CLI::App& app, Action& action);
void add_sql(CLI::App& app, Action& action);
void add_doctor(CLI::App& app, Action& action);
void add_diff(CLI::App& app, Action& action);
void add_list(CLI::App& app, Action& action);
void add_record(CLI::App& app, Action& action);
void add_replay(CLI::App& app, Action& action);
void add_events(CLI::App& app, Action& action);
void add_status(CLI::App& app, Action& action);
void add_top(CLI::App& app, Action& action);
void add_pause(CLI::App& app, Action& action);
void add_web(CLI::App& app, Action& action);

}  // namespace tailor::cli
