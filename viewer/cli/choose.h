// From what the user typed to a request of daemon/serve.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/query/json/json_parts.h"
#include "daemon/query/load/damage.h"
#include "daemon/query/time/iterations.h"
#include "daemon/serve/library.h"
#include "daemon/serve/view.h"
#include "proto/base/result.h"
#include "viewer/cli/execution_filter.h"
#include "viewer/cli/terminal.h"

namespace tailor::cli {

// Options of the commands that show a profile.
struct Choice {
  std::string what;               // a file or an execution
  std::string execution;          // its id or the start of it
  std::vector<std::string> last;  // "--last [N]": empty if not given
  bool has_last = false;
  FilterOptions filter;  // which executions: all that pass, or the last of them
  std::string source;
  std::string process;                           // a pid
  std::string store;                             // directory
  std::string iteration, loop, iterations_from;  // of a dataflow loop; empty: not asked for
  std::optional<serve::Target> target;           // which executions, where the command has chosen them itself
  std::optional<double> from_ns, to_ns;          // since the begin of what is shown
  serve::Detail detail;                          // what the command needs beside the sums
  bool json = false;
  bool ascii = false;

  Terminal terminal() const {
    Terminal out = Terminal::detect();
    out.ascii = out.ascii || ascii;
    return out;
  }
};

// Adds them to `command`. `choice` must outlive the parsing.
void add_choice(CLI::App& command, Choice& choice);
// And those that choose a part of the time of what is shown.
void add_time_choice(CLI::App& command, Choice& choice);
// And those that choose a loop.
void add_loop_choice(CLI::App& command, Choice& choice);
// And those that choose one of its iterations.
void add_iteration_choice(CLI::App& command, Choice& choice);

// How many executions --last asks for, 0 without it. "--last FILE" is a flag and a file: the option takes its
// argument only where it is a number, and else gives it to Choice::what. Fails where that has a value
// already.
Status settle_last(Choice& choice, std::size_t& count);
// Fails where both a file and a store are named.
Status refuse_store_of_file(const Choice& choice);
// Whether Choice::what is a profile and no execution.
bool names_file(const Choice& choice);

// Tells it on standard error, each text once. `name`: of the file or the store.
query::OnDamage warn_of_damage(std::string name);
// A file of any tool that we can read. Here, and of a store, warn_of_damage() tells what could not be read.
std::unique_ptr<serve::Library> open_file(const std::string& path);
// The file of the choice (of another tool too: a perf.data as if it had been imported), or the store, into
// which a running daemon writes what it has first.
std::unique_ptr<serve::Library> open_library(const Choice& choice);
// What a service says of the file or the store. Tells on standard error how much of a store nobody looked at.
Result<query::Json> tell_unchecked(Result<query::Json> file);
// Which executions of it.
Result<serve::Target> target_of(Choice& choice);

// Opens what was chosen, narrowed to its process, event source, time and iteration, and to `filters`. Tells
// on standard error what was left out. Fails where serve::Service::open() does.
Result<serve::View> choose(Choice choice, serve::Filters filters = {});

struct ChosenLoops {
  serve::View view;  // with its samples
  std::vector<query::Loop> loops;
};
// The same, and the loops in what was chosen.
Result<ChosenLoops> choose_loops(const Choice& choice);

// What executions are listed of: the file, whatever it is named, or the store.
std::unique_ptr<serve::Library> choose_library(const Choice& choice);

}  // namespace tailor::cli
