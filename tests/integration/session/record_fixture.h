// Records commands as `tailor record` does, for tests of what comes out.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "daemon/session/record.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/chance.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/disturbance.h"
#include "tests/support/host_allows.h"

namespace tailor::session {

class RecordTest : public testing::Test {
 protected:
  static constexpr int kFrequency = 2000;
  // How many samples of the timer stand for `ns`.
  static double samples_in(double ns) { return ns * kFrequency / 1e9; }

  RecordTest() {
    std::string name = testing::TempDir() + "tailor-record-XXXXXX";
    directory = ::mkdtemp(name.data());
  }
  ~RecordTest() override { std::filesystem::remove_all(directory); }

  // Records the command. Where the host denies it, `skipped` says why; where the recorder refuses what the
  // host allows, the test has failed, and `skipped` says with what.
  RecordOutcome run(std::vector<std::string> command, const std::string& journal = {}) {
    RecordOptions options;
    options.command = std::move(command);
    options.output = directory + "/profile.tailor";
    options.journal = journal;
    options.sampling.frequency = kFrequency;
    options.sampling.events = events;
    options.sampling.sampled_by = sampled_by;
    options.sampling.stacks = stacks;
    options.sampling.aggregate = aggregate;
    options.sampling.placement = placement;
    options.sampling.memory = memory;
    auto outcome = record(os::real(), options);
    if (!outcome.ok()) {
      skipped = test::skip_if_denied(sampled_by, placement, outcome.error().message);
      return {};
    }
    read(options.output);
    return *outcome;
  }
  void read(const std::string& path) {
    auto file = store::open_file(path);
    ASSERT_TRUE(file.ok());
    store::ReadReport report;
    store::SaidLoss loss;
    ASSERT_TRUE(store::read_profile(**file, profile, report, loss).ok());
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string directory, skipped;
  std::vector<std::string> events = {"cpu-clock"};
  capture::SampledBy sampled_by = capture::SampledBy::kAuto;
  capture::Stacks stacks = capture::Stacks::kNone;
  TimeNs aggregate = 0;
  capture::Placement placement = capture::Placement::kAuto;
  bool memory = false;
  test::CollectingSink profile;
};

// What samples stand for of what was used: the kernel accounts it to the command and its children.
inline double coverage_of(const RecordOutcome& outcome) {
  return static_cast<double>(outcome.recording.cpu_sampled_ns) /
         static_cast<double>(outcome.recording.cpu_used_ns);
}

using test::by_chance;

}  // namespace tailor::session
