// The daemon's options: command line, then configuration file, then defaults.
#pragma once

#include <cstdint>
#include <string>

#include "daemon/capture/event_spec.h"
#include "proto/base/result.h"

namespace tailor::tailord {

struct Options {
  std::string agent_socket, control_socket, store;
  std::uint64_t frequency = 1000;  // samples a second of CPU time
  bool callchain = false;
  capture::SampledBy sampled_by = capture::SampledBy::kAuto;
  capture::Stacks stacks = capture::Stacks::kAdaptive;
  double aggregate = 0;     // seconds, 0: one record per sample
  bool memory = false;      // registers too, for the operands of instructions
  double max_overhead = 0;  // share of a target's CPU time, 0: no bound
  std::string journal;      // empty: none
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
