#include "daemon/tailord/options.h"

#include <CLI/CLI.hpp>

#include "daemon/session/host_info.h"
#include "daemon/session/sampling_flags.h"
#include "proto/control/paths.h"

namespace tailor::tailord {

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  o.agent_socket = control::agent_socket_path();
  o.control_socket = control::control_socket_path();
  o.store = control::store_path();
  o.sampling.frequency = kFrequency;
  CLI::App app{
      "tailord: samples the query engines of this host that have registered, and keeps what it finds."};
  app.set_version_flag("--version", std::string("tailord ") + session::kVersion);
  app.set_config("--config", "", "Options as TOML: frequency = 99");
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
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    parsed.finished = true;
    parsed.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return parsed;
}

}  // namespace tailor::tailord
