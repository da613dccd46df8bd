// The daemon's options, with their defaults.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/config/sampling_options.h"
#include "daemon/control/control_server.h"
#include "daemon/session/process_rules.h"
#include "daemon/tailord/trigger_rules.h"
#include "daemon/tailord/web.h"

namespace tailor::tailord {

// Of the daemon, which samples all the time.
inline constexpr std::uint64_t kFrequency = 99;

struct Options {
  std::string agent_socket, control_socket, store;
  std::string socket_group;  // "": that of the daemon
  config::SamplingOptions sampling;
  std::string journal;  // empty: none
  std::string log_level = "info";
  std::uint64_t keep_megabytes = 4096;
  std::uint64_t keep_days = 7;
  std::uint64_t keep_summary_megabytes = 256;
  std::uint64_t keep_summary_days = 400;
  // What processes may ask for; see docs/tailord.md.
  std::uint64_t max_memory_megabytes = 1024;
  std::uint64_t max_processes = 4096;
  std::uint64_t user_processes = 1024, user_plans = 65536, user_code_megabytes = 512,
                user_regions = 4'194'304;
  std::uint64_t user_messages_a_second = 50'000;
  std::uint64_t control_clients = control::ControlServer::kMaxClients;
  bool keep_literals = false;          // of query texts
  bool sum_unsampled = false;          // see store::StoreOptions
  std::uint64_t max_frequency = 5000;  // that may be asked for at run time
  session::ProcessRules processes;     // from the configuration file only
  TriggerRules triggers;               // the same
  WebOptions web;
};

}  // namespace tailor::tailord
