// What the subcommands of `tailor` share.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "proto/base/result.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Exit codes (docs/cli.md). That of a failure follows from the kind of its error: serve::exit_code().
// `tailor record` gives that of the recorded command instead of kOk.
enum ExitCode : int {
  kOk = 0,
  kProblemFound = 1,      // `tailor doctor`: of what it looked at
  kConditionHolds = 4,    // `tailor diff --fail-if`: a condition holds
  kConditionUnknown = 5,  // none does, but one cannot be judged
};

// Prints "tailor: <message>" to standard error, with hostile characters escaped. Gives the exit code.
int complain(const Error& error);
// Prints the same of what is no failure of the command.
void warn(const std::string& message);
// Prints JSON on standard output. For a terminal, characters of names that it would obey are \u escapes in
// it.
void print_json(const std::string& json);
// Prints a text for people on standard output, its lines cut to the width of the terminal.
void print_text(const std::string& text, const Terminal& terminal);
// Of a command that prints more than a screen: from here on it prints to the pager, if there is one. `line`
// is the first that the reader sees, from 1; 0: the first of all. Commands whose text has no such line need
// not call it.
void open_pager(std::size_t line);
// The exit code of a command that has printed that there is nothing.
int nothing_to_show();

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
void add_rate(CLI::App& app, Action& action);
void add_ab(CLI::App& app, Action& action);
void add_bugreport(CLI::App& app, Action& action);
void add_web(CLI::App& app, Action& action);

}  // namespace tailor::cli
