#include "daemon/tailord/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "daemon/os/os.h"
#include "daemon/session/host_info.h"
#include "daemon/session/sampling_flags.h"
#include "daemon/tailord/config_file.h"
#include "proto/control/paths.h"

namespace tailor::tailord {
namespace {

constexpr const char* kConfigFile = "/etc/tailor/tailord.toml";

// The settings, which a configuration file can hold too.
void declare(CLI::App& app, Options& o) {
  o.agent_socket = control::agent_socket_path();
  o.control_socket = control::control_socket_path();
  o.store = control::store_path();
  o.sampling.frequency = kFrequency;
  app.add_option("--socket", o.agent_socket, "Where engines register (default: TAILOR_SOCKET, else by user)");
  app.add_option("--socket-group", o.socket_group,
                 "Group whose members' engines may register (default: the daemon's own)");
  app.add_option("--control", o.control_socket,
                 "Where `tailor` asks (default: TAILOR_CONTROL, else by user)");
  app.add_option("--store", o.store, "Directory of the profiles (default: TAILOR_STORE, else by user)");
  session::add_sampling_flags(app, o.sampling);
  app.add_option("--journal", o.journal, "Keep every input in this file, for `tailor replay`");
  app.add_option("--keep-megabytes", o.keep_megabytes, "Oldest profiles go beyond this size, 0: never")
      ->capture_default_str();
  app.add_option("--keep-days", o.keep_days, "Older profiles go, 0: never")->capture_default_str();
  app.add_option("--max-memory", o.max_memory_megabytes, "Megabytes to keep of what all processes say")
      ->check(CLI::Range(16, 1 << 20))
      ->capture_default_str();
  app.add_option("--user-processes", o.user_processes, "Processes of one user that may register")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_option("--user-plans", o.user_plans, "Plans of all processes of one user at a time")
      ->check(CLI::Range(1, 1 << 24))
      ->capture_default_str();
  app.add_option("--user-code", o.user_code_megabytes,
                 "Megabytes of code, with tables, of all processes of one user")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  app.add_option("--user-regions", o.user_regions, "Regions of memory of all processes of one user at a time")
      ->check(CLI::Range(1, 1 << 28))
      ->capture_default_str();
  app.add_option("--user-messages-per-second", o.user_messages_a_second,
                 "Messages of all processes of one user, 0: any number")
      ->capture_default_str();
  app.add_option("--log-level", o.log_level, "What is logged to standard error")
      ->check(CLI::IsMember({"debug", "info", "warn", "error"}))
      ->capture_default_str();
  app.add_flag("--keep-literals", o.keep_literals,
               "Keep the literals of query texts (default: they are taken out, docs/security.md)");
  app.add_option("--http", o.web.socket,
                 "UNIX socket of the HTTP interface, \"none\" for none (default: http.sock "
                 "beside the control socket)");
  app.add_option("--listen", o.web.listen, "ADDRESS:PORT of the HTTP interface over TCP; needs --tokens");
  app.add_option("--metrics-listen", o.web.metrics, "ADDRESS:PORT for /metrics alone");
  app.add_option("--tokens", o.web.tokens, "File of the tokens that may be used over TCP (docs/security.md)");
  app.add_option("--http-host", o.web.hosts, "A name this host is asked by, besides those of the loopback");
}

// `processes`: where the file's rules go; must outlive the parsing.
void add_config(CLI::App& app, session::ProcessRules& processes) {
  app.set_config("--config", "", "Options as TOML: frequency = 99");
  app.config_formatter(std::make_shared<ConfigFile>(
      app, [scratch = std::make_shared<Options>()](CLI::App& probe) { declare(probe, *scratch); },
      processes));
}

// Once the command line and the file were read.
void settle(Options& options) {
  WebOptions& web = options.web;
  if (web.socket.empty())
    web.socket = std::filesystem::path(options.control_socket).parent_path() / "http.sock";
  if (web.socket == "none") web.socket.clear();
}

// What is wrong with the file is told on standard error; returns the exit code.
int check_config(const std::string& path) {
  CLI::App app{"", "tailord"};
  Options options;
  declare(app, options);
  add_config(app, options.processes);
  std::vector<std::string> arguments = {"--config=" + path};
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& problem) {
    fmt::print(stderr, "{}\n", problem.what());
    return kWrongOptions;
  }
  // What this host cannot do is as wrong as what no host can.
  if (auto capture = session::capture_options(os::real(), options.sampling); !capture.ok()) {
    fmt::print(stderr, "{}: {}\n", path, capture.error().message);
    return kWrongOptions;
  }
  fmt::print("{}: right\n", path);
  return 0;
}

}  // namespace

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CLI::App app{"Samples the query engines of this host that have registered, and keeps what it finds.",
               "tailord"};
  app.set_version_flag("--version", std::string("tailord ") + session::kVersion);
  add_config(app, parsed.options.processes);
  std::string checked;
  auto* check =
      app.add_option("--check-config", checked,
                     fmt::format("Say what is wrong in a configuration file, and where, and end: 0 if "
                                 "it is right, 2 if not (default: that of --config, else {})",
                                 kConfigFile))
          ->expected(0, 1)
          ->type_name("FILE")
          ->configurable(false);
  declare(app, parsed.options);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.finished = true;
    parsed.exit_code = app.exit(error) == 0 ? 0 : kWrongOptions;
    return parsed;
  }
  if (check->count() > 0) {
    if (checked.empty()) checked = app.get_config_ptr()->as<std::string>();
    parsed.finished = true;
    parsed.exit_code = check_config(checked.empty() ? kConfigFile : checked);
  }
  settle(parsed.options);
  return parsed;
}

Result<Options> parse_again(int argc, char** argv) {
  CLI::App app{"", "tailord"};
  Options options;
  add_config(app, options.processes);
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
