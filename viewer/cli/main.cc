// `tailor`: the command line.
#include <fmt/format.h>

#include <cstdio>
#include <exception>

#include "viewer/cli/command.h"
#include "viewer/cli/text.h"

namespace tailor::cli {

int complain(const std::string& message, int code) {
  fmt::print(stderr, "tailor: {}\n", escape(message, false));
  return code;
}

namespace {

int run(int argc, char** argv) {
  CLI::App app{"Shows where a running query engine spends its time, in the words of its query plans."};
  app.name("tailor");
  app.set_version_flag("--version", "tailor " TAILOR_VERSION);
  app.require_subcommand(1);
  app.footer("Exit codes: 0 done, 1 failed, 2 wrong command line, 3 nothing to show.");
  Action action;
  add_record(app, action);
  add_report(app, action);
  add_annotate(app, action);
  add_iterations(app, action);
  add_list(app, action);
  add_replay(app, action);
  add_events(app, action);
  add_status(app, action);
  app.add_subcommand("version", "Prints the version")->callback([&action] {
    action = [] {
      fmt::print("tailor {}\n", TAILOR_VERSION);
      return static_cast<int>(kOk);
    };
  });
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? kOk : kUsage;
  }
  return action();
}

}  // namespace
}  // namespace tailor::cli

int main(int argc, char** argv) {
  try {
    return tailor::cli::run(argc, argv);
  } catch (const std::exception& problem) {
    return tailor::cli::complain(problem.what(), tailor::cli::kFailed);
  }
}
