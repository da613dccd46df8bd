// Recordings of one store as one profile: the daemon was restarted, or the host was booted, in between.
#include "daemon/query/load/recording_chain.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/profile/forwarding_sink.h"
#include "daemon/query/reports/executions.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr std::uint64_t kHour = 3'600'000'000'000;
constexpr int kRounds = 2;
constexpr std::uint64_t kSamples = kRounds * test::kSamplesOfRound;

// The sample profile, made otherwise.
struct Made {
  std::function<void(profile::RecordingInfo&)> info = [](profile::RecordingInfo&) {};
  std::function<void(profile::ProcessRecord&)> process = [](profile::ProcessRecord&) {};
  std::function<void(profile::SampleRecord&)> sample = [](profile::SampleRecord&) {};
  std::uint8_t id = 0xE1;
  ExecutionHandle handle = test::kSampleExecution;
};

class Otherwise : public profile::ForwardingSink {
 public:
  Otherwise(profile::ProfileSink& out, const Made& made) : ForwardingSink(out), made_(made) {}
  void on_recording(const profile::RecordingInfo& v) override {
    profile::RecordingInfo info = v;
    made_.info(info);
    out_.on_recording(info);
  }
  void on_process(const profile::ProcessRecord& v) override {
    profile::ProcessRecord process = v;
    made_.process(process);
    out_.on_process(process);
  }
  void on_execution(const profile::ExecutionRecord& v) override {
    profile::ExecutionRecord execution = v;
    execution.id.bytes.fill(made_.id);
    execution.handle = made_.handle;
    out_.on_execution(execution);
  }
  void on_samples(std::span<const profile::SampleRecord> v) override {
    std::vector<profile::SampleRecord> samples(v.begin(), v.end());
    for (profile::SampleRecord& sample : samples) {
      if (sample.attribution.execution != 0) sample.attribution.execution = made_.handle;
      made_.sample(sample);
    }
    out_.on_samples(samples);
  }

 private:
  const Made& made_;
};

class RecordingChainTest : public testing::Test {
 protected:
  RecordingChainTest() { std::filesystem::remove_all(directory_); }
  ~RecordingChainTest() override { std::filesystem::remove_all(directory_); }

  void record(const Made& made) {
    auto writer = store::StoreWriter::open(directory_, {}, kWall);
    ASSERT_TRUE(writer);
    Otherwise sink(**writer, made);
    test::give_profile(sink, kRounds);
    ASSERT_TRUE((*writer)->finish());
  }
  LoadedExecutions load(const LoadOptions& options = {}) {
    auto catalogue = store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    std::vector<store::ExecutionRow> rows;
    EXPECT_TRUE(catalogue->visit_executions({}, [&](store::ExecutionRow row) {
      rows.push_back(std::move(row));
      return true;
    }));
    auto loaded = load_executions(directory_, *catalogue, rows, options);
    EXPECT_TRUE(loaded) << (loaded ? "" : loaded.error().message);
    return std::move(*loaded);
  }
  static PlanReport report_of(const LoadedExecutions& loaded) {
    auto report = plan_report(loaded.profile, loaded.selection);
    EXPECT_TRUE(report) << (report ? "" : report.error().message);
    return report ? std::move(*report) : PlanReport();
  }
  const std::string directory_ = testing::TempDir() + "/recording_chain_test." + std::to_string(::getpid());
};

Made on_boot(const std::string& boot, std::uint64_t wall, std::uint8_t id, ExecutionHandle handle) {
  Made made;
  made.info = [=](profile::RecordingInfo& info) {
    info.boot_id = boot;
    info.wall_clock_ns = wall;
  };
  made.id = id;
  made.handle = handle;
  return made;
}

TEST_F(RecordingChainTest, OfARestartTheProcessAndItsPlanAreOne) {
  record(on_boot("a", kWall, 0xE1, 3));
  const Cell one = report_of(load()).total;
  record(on_boot("a", kWall, 0xE2, 4));
  const LoadedExecutions loaded = load();
  EXPECT_TRUE(loaded.left_out.empty());
  EXPECT_EQ(loaded.selection.executions.size(), 2u);
  EXPECT_EQ(loaded.profile.processes().size(), 1u);
  const PlanReport report = report_of(loaded);
  EXPECT_EQ(report.total.samples, 2 * one.samples);
  EXPECT_DOUBLE_EQ(report.total.weight, 2 * one.weight);
  ASSERT_EQ(report.plans.size(), 1u);
  EXPECT_EQ(report.plans[0].executions, 2u);
  EXPECT_EQ(report.accounting.total.received, 2 * kSamples);
}

// The same number and start may be another process's after a boot, and clocks begin anew.
TEST_F(RecordingChainTest, OfABootProcessesAreOthersAndTimesFollowTheWall) {
  record(on_boot("a", kWall, 0xE1, 3));
  const Cell one = report_of(load()).total;
  record(on_boot("b", kWall + kHour, 0xE2, 3));
  const LoadedExecutions loaded = load();
  EXPECT_TRUE(loaded.left_out.empty());
  EXPECT_EQ(loaded.profile.processes().size(), 2u);
  const PlanReport report = report_of(loaded);
  EXPECT_EQ(report.total.samples, 2 * one.samples);
  EXPECT_EQ(report.plans.size(), 2u);
  std::vector<TimeNs> begins;
  for (const profile::ExecutionRecord& each : loaded.profile.executions()) begins.push_back(each.begin);
  EXPECT_EQ(begins,
            (std::vector<TimeNs>{test::kSampleStart - static_cast<TimeNs>(kHour), test::kSampleStart}));
  EXPECT_EQ(loaded.profile.recording().wall_of(begins[0]), kWall);
  EXPECT_EQ(loaded.profile.recording().wall_of(begins[1]), kWall + kHour);
}

TEST_F(RecordingChainTest, SourcesAreKnownByTheirNames) {
  record(on_boot("a", kWall, 0xE1, 3));
  const Cell one = report_of(load()).total;
  Made second = on_boot("a", kWall, 0xE2, 4);
  second.info = [](profile::RecordingInfo& info) {
    info.boot_id = "a";
    info.sources = {{0, "page-faults", profile::Unit::kEvents, 1, false},
                    {1, "cpu-clock", profile::Unit::kNsOnCpu, 2'000'000, false}};
    info.wait_names = {"DataFileRead"};
  };
  second.sample = [](profile::SampleRecord& sample) { sample.source = 1; };
  record(second);
  const LoadedExecutions loaded = load();
  EXPECT_EQ(loaded.profile.recording().sources.size(), 2u);
  const PlanReport report = report_of(loaded);
  EXPECT_EQ(report.source.name, "cpu-clock");
  EXPECT_EQ(report.total.samples, 2 * one.samples);
  EXPECT_DOUBLE_EQ(report.total.weight, 2 * one.weight);
  EXPECT_TRUE(report.other_sources.empty());
}

TEST_F(RecordingChainTest, NamesOfWaitsKeepTheirSamples) {
  Made first = on_boot("a", kWall, 0xE1, 3);
  const auto waits = [](std::vector<std::string> names) {
    return [names](profile::RecordingInfo& info) {
      info.boot_id = "a";
      info.wait_names = names;
    };
  };
  first.info = waits({"DataFileRead", "WALSync"});
  first.sample = [](profile::SampleRecord& sample) {
    sample.wait = profile::Wait::kIo;
    sample.engine_wait = 2;
  };
  record(first);
  Made second = on_boot("a", kWall, 0xE2, 4);
  second.info = waits({"WALSync"});
  second.sample = [](profile::SampleRecord& sample) {
    sample.wait = profile::Wait::kIo;
    sample.engine_wait = 1;
  };
  record(second);
  const LoadedExecutions loaded = load();
  const std::vector<std::string>& names = loaded.profile.recording().wait_names;
  for (const auto& [key, cell] : loaded.profile.cells()) {
    ASSERT_GE(key.engine_wait, 1u);
    EXPECT_EQ(names.at(key.engine_wait - 1), "WALSync");
  }
}

// Where nobody wrote down which boot it was, the clocks tell.
TEST_F(RecordingChainTest, WithoutABootClocksTellIt) {
  record(on_boot("", kWall, 0xE1, 3));
  record(on_boot("", kWall + 1'000'000'000, 0xE2, 4));
  EXPECT_EQ(load().profile.processes().size(), 1u);
  record(on_boot("", kWall + kHour, 0xE3, 5));
  const LoadedExecutions loaded = load();
  EXPECT_EQ(loaded.profile.processes().size(), 2u);
  EXPECT_EQ(report_of(loaded).plans.size(), 2u);
}

// The look that finds a process after a restart does not see who forked it.
TEST_F(RecordingChainTest, AProcessKeepsItsParent) {
  const ProcessId parent{17, 1};
  Made first = on_boot("a", kWall, 0xE1, 3);
  first.process = [=](profile::ProcessRecord& process) {
    process.parent = parent;
    process.forked = 7;
  };
  record(first);
  Made second = on_boot("a", kWall, 0xE2, 4);
  second.process = [](profile::ProcessRecord& process) { process.first_seen += 5; };
  record(second);
  const LoadedExecutions loaded = load();
  const profile::ProcessRecord& process = loaded.profile.processes().at(test::kSampleProcess);
  EXPECT_EQ(process.parent, parent);
  EXPECT_EQ(process.forked, 7);
  EXPECT_EQ(process.first_seen, test::kSampleStart);
}

TEST_F(RecordingChainTest, WhatCannotBeOneWithTheNewestIsLeftOutAndCounted) {
  record(on_boot("a", kWall, 0xE1, 3));
  Made drawn = on_boot("b", kWall + kHour, 0xE2, 4);
  drawn.info = [](profile::RecordingInfo& info) {
    info.boot_id = "b";
    info.drawn_ppm = 1000;
  };
  record(drawn);
  record(on_boot("b", kWall + kHour, 0xE3, 5));
  using LeftOut = std::map<Unchained, std::size_t>;
  EXPECT_EQ(load().left_out, (LeftOut{{Unchained::kAnotherShare, 1}}));
  // The kernel of another boot has its functions elsewhere.
  LoadOptions functions;
  functions.functions = true;
  EXPECT_EQ(load(functions).left_out, (LeftOut{{Unchained::kAnotherShare, 1}, {Unchained::kAnotherBoot, 1}}));
}

}  // namespace
}  // namespace tailor::query
