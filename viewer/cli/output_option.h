// The option -o of all commands that write a file.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace tailor::cli {

// Adds -o to `command`; `output` has the default name, and must outlive the parsing. Where the option was not
// given, a file of the default name is kept as NAME.old (store::OutputOptions::keep_old). `what`: "The
// profile".
inline CLI::Option* add_output(CLI::App& command, std::string& output, const std::string& what) {
  return command
      .add_option("-o,--output", output,
                  what + "; replaced if it exists. -: standard output. Without the option, the last " +
                      output + " becomes " + output + ".old")
      ->capture_default_str();
}

}  // namespace tailor::cli
