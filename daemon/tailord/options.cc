#include "daemon/tailord/options.h"

#include <CLI/CLI.hpp>

#include "daemon/session/host_info.h"
#include "daemon/session/overhead_control.h"
#include "proto/control/paths.h"

namespace tailor::tailord {

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  Options& o = parsed.options;
  o.agent_socket = control::agent_socket_path();
  o.control_socket = control::control_socket_path();
  o.store = control::store_path();
  CLI::App app{
      "tailord: samples the query engines of this host that have registered, and keeps what it finds."};
  app.set_version_flag("--version", std::string("tailord ") + session::kVersion);
  app.set_config("--config", "", "Options as TOML: frequency = 1000");
  app.add_option("--socket", o.agent_socket, "Where engines register (default: TAILOR_SOCKET, else by user)");
  app.add_option("--control", o.control_socket,
                 "Where `tailor` asks (default: TAILOR_CONTROL, else by user)");
  app.add_option("--store", o.store, "Directory of the profiles (default: TAILOR_STORE, else by user)");
  app.add_option("--frequency", o.frequency, "Samples a second of CPU time")
      ->check(CLI::Range(1, 50'000))
      ->capture_default_str();
  app.add_option("--source", o.sampled_by,
                 "Who takes the samples: auto, bpf or perf (auto: bpf if permitted)")
      ->transform(CLI::CheckedTransformer(capture::kSampledByNames, CLI::ignore_case));
  app.add_option(
         "--stacks", o.stacks,
         "Which samples bring a piece of stack, to find tags a library put aside: adaptive "
         "(default; unknown code without a tag; without BPF every one of a timer up to 5 kHz), none or "
         "always")
      ->transform(CLI::CheckedTransformer(capture::kStacksNames, CLI::ignore_case));
  auto* aggregate =
      app.add_option(
             "--aggregate", o.aggregate,
             "Add samples up in the kernel for so many seconds, by thread, instruction and tag: less data "
             "and work, but times and executions are known to that only (needs BPF, else one record each)")
          ->check(CLI::Range(0.1, 60.0));
  app.add_flag("--memory", o.memory,
               "Also record registers, from which the data addresses of instructions are computed")
      ->excludes(aggregate);
  app.add_flag("--callchain", o.callchain,
               "Also record user call chains, for engines without tags (costs more)")
      ->excludes(aggregate);
  app.add_option_function<std::string>(
         "--max-overhead",
         [&o](const std::string& text) { o.max_overhead = *session::parse_percentage(text); },
         "Sample less often if samples cost a process more of its CPU time: 1%")
      ->check([](const std::string& text) {
        auto share = session::parse_percentage(text);
        return share.ok() ? std::string() : share.error().message;
      })
      ->excludes(aggregate);
  app.add_option("--journal", o.journal, "Keep every input in this file, for `tailor replay`");
  app.add_option("--keep-megabytes", o.keep_megabytes, "Oldest profiles go beyond this size, 0: never")
      ->capture_default_str();
  app.add_option("--keep-days", o.keep_days, "Older profiles go, 0: never")->capture_default_str();
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
