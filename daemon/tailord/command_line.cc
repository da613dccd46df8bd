#include "daemon/tailord/command_line.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <string_view>

#include "daemon/config/config_file.h"
#include "daemon/os/os.h"
#include "daemon/serve/error_json.h"
#include "daemon/session/host_info.h"
#include "daemon/tailord/log.h"
#include "daemon/tailord/prepared.h"
#include "daemon/tailord/process_config.h"
#include "daemon/tailord/settings.h"
#include "daemon/tailord/trigger_config.h"
#include "proto/control/paths.h"

namespace tailor::tailord {
namespace {

const int kWrongOptions = serve::exit_code(ErrorKind::kInvalid);
constexpr const char* kConfigFile = "/etc/tailor/tailord.toml";

void declare(CLI::App& app, Options& o) {
  o.agent_socket = control::agent_socket_path();
  o.control_socket = control::control_socket_path();
  o.store = control::store_path();
  o.sampling.frequency = kFrequency;
  config::declare(app, settings(), o);
}

// `options`: where the file's rules go; must outlive the parsing.
void add_config(CLI::App& app, Options& options) {
  app.set_config("--config", "", "A file with options as TOML, such as frequency = 99");
  std::map<std::string, config::ReadTable> tables;
  tables["processes"] = [&options](const toml::table& table, const config::OnWrong& wrong) {
    options.processes = read_process_rules(table, wrong);
  };
  tables["triggers"] = [&options](const toml::table& table, const config::OnWrong& wrong) {
    options.triggers = read_triggers(table, wrong);
  };
  app.config_formatter(std::make_shared<config::ConfigFile>(
      app, [scratch = std::make_shared<Options>()](CLI::App& probe) { declare(probe, *scratch); },
      std::move(tables)));
}

// Once the command line and the file were read.
void settle(Options& options) {
  WebOptions& web = options.web;
  if (web.socket.empty())
    web.socket = std::filesystem::path(options.control_socket).parent_path() / "http.sock";
  if (web.socket == "none") web.socket.clear();
}

// An option on the command line that the check of a file would ignore; empty if there is none.
std::string beside_check(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word.starts_with('-') && !word.starts_with("--check-config") && !word.starts_with("--config"))
      return std::string(word.substr(0, word.find('=')));
  }
  return {};
}

// What is wrong with the file is told on standard error; returns the exit code.
int check_config(const std::string& path) {
  CLI::App app{"", "tailord"};
  Options options;
  declare(app, options);
  add_config(app, options);
  std::vector<std::string> arguments = {"--config=" + path};
  const bool journal = logs_to_journal();
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    fmt::print(stderr, "{}", as_errors(problem.what(), journal));
    return kWrongOptions;
  }
  settle(options);
  // What this host cannot do is as wrong as what no host can.
  if (const auto prepared = prepare(os::real(), options); !prepared.ok()) {
    fmt::print(stderr, "{}", as_errors(fmt::format("{}: {}", path, prepared.error().message), journal));
    return kWrongOptions;
  }
  fmt::print("{}: right\n", path);
  return 0;
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CLI::App app{"Samples the query engines that have registered on this host, and stores their profiles.",
               "tailord"};
  app.set_version_flag("--version", std::string("tailord ") + session::kVersion);
  app.footer(
      "If root starts tailord, it keeps only the capabilities that it needs: CAP_PERFMON, CAP_BPF, "
      "CAP_SYS_PTRACE,\nCAP_SYSLOG, CAP_CHECKPOINT_RESTORE, and others only where something needs them. The "
      "log names them.");
  add_config(app, parsed.options);
  std::string checked;
  auto* check =
      app.add_option(
             "--check-config", checked,
             fmt::format("Check a configuration file, print each error with its place, and exit: with 0 "
                         "if there is none, else with 2 (default: the file of --config, else {})",
                         kConfigFile))
          ->expected(0, 1)
          ->type_name("FILE")
          ->configurable(false);
  declare(app, parsed.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.finished = true;
    std::ostringstream said;
    parsed.exit_code = app.exit(error, std::cout, said) == 0 ? 0 : kWrongOptions;
    fmt::print(stderr, "{}", as_errors(said.str(), logs_to_journal()));
    return parsed;
  }
  if (check->count() > 0) {
    if (checked.empty()) checked = app.get_config_ptr()->as<std::string>();
    parsed.finished = true;
    if (const std::string other = beside_check(argc, argv); !other.empty()) {
      parsed.exit_code = kWrongOptions;
      fmt::print(stderr, "tailord: --check-config judges a file alone: leave out {}\n", other);
      return parsed;
    }
    parsed.exit_code = check_config(checked.empty() ? kConfigFile : checked);
  }
  settle(parsed.options);
  return parsed;
}

Result<Options> parse_again(int argc, char** argv) {
  CLI::App app{"", "tailord"};
  Options options;
  add_config(app, options);
  declare(app, options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& problem) {
    return invalid(problem.what());
  }
  settle(options);
  return options;
}

}  // namespace tailor::tailord
