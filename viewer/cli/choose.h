// From what the user typed to a profile and a selection in it.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "daemon/query/costs.h"
#include "daemon/query/profile.h"
#include "proto/base/result.h"

namespace tailor::cli {

// Options of the commands that show a profile.
struct Choice {
  std::string what;       // a file or an execution
  std::string execution;  // its id or the start of it
  bool last = false;
  std::string source;
  std::string process;  // a pid
  bool json = false;
  bool ascii = false;
};

// Adds them to `command`. `choice` must outlive the parsing.
void add_choice(CLI::App& command, Choice& choice);

struct Chosen {
  query::Profile profile;
  query::Selection selection;
};

// Opens the profile. Errors say what was looked for, where, and what to do.
Result<Chosen> choose(const Choice& choice);

// The execution whose id begins with `prefix` (hexadecimal), or an error that names the candidates.
Result<const store::ExecutionRecord*> find_execution(const query::Profile& profile,
                                                     const std::string& prefix);

}  // namespace tailor::cli
