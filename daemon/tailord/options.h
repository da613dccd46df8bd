// The daemon's options: command line, then configuration file, then defaults.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/session/sampling_options.h"

namespace tailor::tailord {

// Of the daemon, which samples all the time.
inline constexpr std::uint64_t kFrequency = 99;

struct Options {
  std::string agent_socket, control_socket, store;
  session::SamplingOptions sampling;
  std::string journal;  // empty: none
  std::string log_level = "info";
  std::uint64_t keep_megabytes = 4096;
  std::uint64_t keep_days = 7;
};

struct Parsed {
  Options options;
  bool finished = false;  // --help or --version was answered
  int exit_code = 0;      // then, and after a wrong command line
};

Parsed parse(int argc, char** argv);

}  // namespace tailor::tailord
