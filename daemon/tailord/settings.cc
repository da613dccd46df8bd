#include "daemon/tailord/settings.h"

#include <algorithm>

#include "daemon/config/sampling_settings.h"

namespace tailor::tailord {
namespace {

using config::TakesEffect;
using config::value;
using Table = config::Settings<Options>;

// Gives a member, of options that may be changed or not.
#define TAILOR_MEMBER(name) ([](auto& options) -> auto& { return options.name; })

void show_default(CLI::Option& option) {
  option.capture_default_str();
}

// A number in that range.
template <typename Number>
std::function<void(CLI::Option&)> between(Number least, Number most) {
  return [=](CLI::Option& option) { option.check(CLI::Range(least, most))->capture_default_str(); };
}

Table places() {
  return {
      value<Options>("socket", "--socket", TAILOR_MEMBER(agent_socket),
                     "Socket where engines register (default: TAILOR_SOCKET, else a path by user)"),
      value<Options>("socket-group", "--socket-group", TAILOR_MEMBER(socket_group),
                     "Group whose members' engines may register (default: the daemon's own)"),
      value<Options>("control", "--control", TAILOR_MEMBER(control_socket),
                     "Socket to which `tailor` connects (default: TAILOR_CONTROL, else a path by user)"),
      value<Options>("store", "--store", TAILOR_MEMBER(store),
                     "Directory of the profiles (default: TAILOR_STORE, else a path by user)"),
  };
}

Table run_time() {
  return {
      value<Options>("max-frequency", "--max-frequency", TAILOR_MEMBER(max_frequency),
                     "Samples per second of CPU time that `tailor rate` and triggers may ask for",
                     between(1, 50'000)),
  };
}

Table what_is_kept() {
  return {
      value<Options>("journal", "--journal", TAILOR_MEMBER(journal),
                     "Keep every input in this file, for `tailor replay`"),
      value<Options>("keep-megabytes", "--keep-megabytes", TAILOR_MEMBER(keep_megabytes),
                     "Delete the oldest profiles above this size; 0: unlimited", show_default,
                     TakesEffect::kAtRunTime),
      value<Options>("keep-days", "--keep-days", TAILOR_MEMBER(keep_days),
                     "Delete profiles that are older; 0: unlimited", show_default, TakesEffect::kAtRunTime),
      value<Options>("keep-summary-megabytes", "--keep-summary-megabytes",
                     TAILOR_MEMBER(keep_summary_megabytes),
                     "Merge the least expensive queries in summaries of deleted profiles above this size; 0: "
                     "unlimited",
                     show_default, TakesEffect::kAtRunTime),
      value<Options>("keep-summary-days", "--keep-summary-days", TAILOR_MEMBER(keep_summary_days),
                     "Delete summaries of deleted profiles that are older; 0: unlimited", show_default,
                     TakesEffect::kAtRunTime),
      config::flag<Options>("keep-literals", "--keep-literals", TAILOR_MEMBER(keep_literals),
                            "Keep the literals of query texts (default: they are removed, "
                            "docs/security.md)",
                            TakesEffect::kAtRunTime),
      config::flag<Options>("sum-unsampled", "--sum-unsampled", TAILOR_MEMBER(sum_unsampled),
                            "Add up short executions without a sample, instead of a row for each "
                            "(docs/tailord.md)"),
      value<Options>(
          "log-level", "--log-level", TAILOR_MEMBER(log_level), "What is logged to standard error",
          [](CLI::Option& option) {
            option.check(CLI::IsMember({"debug", "info", "warn", "error"}))->capture_default_str();
          },
          TakesEffect::kAtRunTime),
  };
}

Table limits() {
  return {
      value<Options>("max-memory", "--max-memory", TAILOR_MEMBER(max_memory_megabytes),
                     "Megabytes of memory for the data of all processes", between(16, 1 << 20)),
      value<Options>("max-processes", "--max-processes", TAILOR_MEMBER(max_processes),
                     "How many processes of all users may register", between(1, 1 << 16)),
      value<Options>("user-processes", "--user-processes", TAILOR_MEMBER(user_processes),
                     "How many processes of one user may register", between(1, 1 << 16)),
      value<Options>("user-plans", "--user-plans", TAILOR_MEMBER(user_plans),
                     "How many plans all processes of one user may have loaded", between(1, 1 << 24)),
      value<Options>("user-code", "--user-code", TAILOR_MEMBER(user_code_megabytes),
                     "Megabytes of code, with its tables, that all processes of one user may have loaded",
                     between(1, 1 << 20)),
      value<Options>("user-regions", "--user-regions", TAILOR_MEMBER(user_regions),
                     "How many regions of memory all processes of one user may have", between(1, 1 << 28)),
      value<Options>("user-messages-per-second", "--user-messages-per-second",
                     TAILOR_MEMBER(user_messages_a_second),
                     "Messages per second of all processes of one user; 0: unlimited", show_default),
      value<Options>("control-clients", "--control-clients", TAILOR_MEMBER(control_clients),
                     "How many connections the control socket may have", between(1, 1 << 16)),
  };
}

Table web() {
  return {
      value<Options>("http", "--http", TAILOR_MEMBER(web.socket),
                     "UNIX socket of the HTTP interface, \"none\" for none (default: http.sock beside the "
                     "control socket)"),
      value<Options>("listen", "--listen", TAILOR_MEMBER(web.listen),
                     "ADDRESS:PORT of the HTTP interface over TCP; needs --tokens"),
      value<Options>("metrics-listen", "--metrics-listen", TAILOR_MEMBER(web.metrics),
                     "ADDRESS:PORT for /metrics alone"),
      value<Options>("tokens", "--tokens", TAILOR_MEMBER(web.tokens),
                     "File of the tokens for requests over TCP (docs/security.md)"),
      value<Options>("http-host", "--http-host", TAILOR_MEMBER(web.hosts),
                     "A host name that requests may use, besides those of the loopback"),
      value<Options>("http-connections", "--http-connections", TAILOR_MEMBER(web.connections),
                     "How many connections all HTTP listeners may have", between(1, 1 << 16)),
      value<Options>("http-streams", "--http-streams", TAILOR_MEMBER(web.streams),
                     "How many streams of live events there may be", between(0, 1 << 16)),
  };
}

// In the configuration file only.
Table rules() {
  return {
      config::setting<Options>("processes.ignore", "", TAILOR_MEMBER(processes.ignore), {},
                               TakesEffect::kAtRunTime),
      config::setting<Options>("processes.sample", "", TAILOR_MEMBER(processes.sample), {},
                               TakesEffect::kAtRunTime),
      config::setting<Options>("triggers.raise", "", TAILOR_MEMBER(triggers), {}, TakesEffect::kAtRunTime),
  };
}

}  // namespace

const config::Settings<Options>& settings() {
  static const Table kAll = [] {
    Table all = places();
    const auto add = [&](Table more) { std::ranges::move(more, std::back_inserter(all)); };
    add(config::within<Options>(config::sampling_settings(), TAILOR_MEMBER(sampling)));
    add(run_time());
    add(what_is_kept());
    add(limits());
    add(web());
    add(rules());
    return all;
  }();
  return kAll;
}

#undef TAILOR_MEMBER

}  // namespace tailor::tailord
