// The program `NAME NUMBER FILE`, which writes the profile of an engine that one event sampled.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "daemon/store/file_writer.h"

namespace tailor {

// `fill` gives the sink the plans, executions and samples, as many as NUMBER says. Returns the exit code.
template <typename Fill>
int write_engine_profile(const char* name, int argc, char** argv, TimeNs start, Fill fill) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s NUMBER FILE\n", name);
    return 2;
  }
  auto file = store::FileWriter::create(argv[2]);
  if (!file) {
    std::fprintf(stderr, "%s: %s\n", name, file.error().message.c_str());
    return 1;
  }
  profile::RecordingInfo recording;
  recording.command = "engine";
  recording.start = start;
  recording.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  (*file)->on_recording(recording);
  fill(**file, std::strtoull(argv[1], nullptr, 10));
  return (*file)->finish() ? 0 : 1;
}

}  // namespace tailor
