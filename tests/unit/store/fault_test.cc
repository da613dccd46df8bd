// A store whose disk fails, or whose writer dies, at every single call: at most the last second is lost,
// never what was there before, and never the writer.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "daemon/store/store_directory.h"
#include "daemon/store/store_reader.h"
#include "daemon/store/store_writer.h"
#include "tests/support/failing_files.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;
using test::FailingFiles;
using test::Fault;

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr TimeNs kTick = 100'000'000;
constexpr int kTicks = 24;
constexpr int kSamplesATick = 10;
constexpr RecordingNumber kEarlier = 1;

StoreOptions options() {
  StoreOptions options;
  options.segment_time = 900'000'000;  // so that segments end and begin
  return options;
}

std::vector<profile::SampleRecord> samples_of(int tick) {
  std::vector<profile::SampleRecord> samples;
  for (int i = 0; i < kSamplesATick; ++i) {
    samples.push_back(test::ir_sample(test::kSampleStart + tick * kTick + i * (kTick / kSamplesATick),
                                      1 + static_cast<std::uint32_t>(i % 9)));
  }
  return samples;
}

// Lines of the samples of the first `ticks`.
std::vector<std::string> lines(int ticks) {
  std::vector<std::string> out;
  for (int tick = 0; tick < ticks; ++tick) {
    for (const auto& sample : samples_of(tick)) out.push_back(test::TextSink::line(sample));
  }
  return out;
}

struct Read {
  test::TextSink sink;
  std::vector<ExecutionRow> executions;  // of this recording
};

class FaultTest : public testing::TestWithParam<Fault> {
 protected:
  void SetUp() override {
    directory_ = testing::TempDir() + "/store_faults_" + std::to_string(static_cast<int>(GetParam()));
    original_ = directory_ + "_original";
    fs::remove_all(original_);
    auto writer = StoreWriter::open(original_, options(), kWall);
    ASSERT_TRUE(writer);
    ASSERT_EQ((*writer)->recording(), kEarlier);
    test::give_profile(**writer, 3);
    ASSERT_TRUE((*writer)->finish());
  }
  void TearDown() override {
    fs::remove_all(directory_);
    fs::remove_all(original_);
  }

  // A store with an earlier recording in it.
  void fresh_store() {
    fs::remove_all(directory_);
    fs::copy(original_, directory_);
  }

  Read read(RecordingNumber recording) {
    Read out;
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue) << catalogue.error().message;
    if (!catalogue) return out;
    ReadReport report;
    SaidLoss loss;
    StoreSelection selection;
    selection.recording = recording;
    auto ok = read_store(directory_, *catalogue, selection, out.sink, report, loss);
    EXPECT_TRUE(ok) << ok.error().message;
    auto rows = catalogue->executions(100);
    EXPECT_TRUE(rows) << rows.error().message;
    if (!rows) return out;
    for (auto& row : *rows) {
      if (row.recording == recording) out.executions.push_back(std::move(row));
    }
    return out;
  }

  // What the earlier recording is, and what the new one holds: nothing twice, nothing that was not given.
  Read look(RecordingNumber recording) {
    EXPECT_EQ(read(kEarlier).sink.samples, earlier_);
    Read now = read(recording);
    const std::set<std::string> unique(now.sink.samples.begin(), now.sink.samples.end());
    EXPECT_EQ(unique.size(), now.sink.samples.size());
    EXPECT_THAT(lines(kTicks), testing::IsSupersetOf(now.sink.samples));
    return now;
  }

  // False once the fault lies behind the last call.
  bool one_round(std::uint64_t at);

  std::string directory_, original_;
  std::vector<std::string> earlier_;
};

bool FaultTest::one_round(std::uint64_t at) {
  const bool killed = GetParam() == Fault::kKill;
  fresh_store();
  earlier_ = read(kEarlier).sink.samples;
  EXPECT_EQ(earlier_.size(), 48u);
  std::vector<std::string> problems;
  RecordingNumber recording = 0;
  int struck_at = 0;  // how many ticks were given by then
  bool struck = false;
  std::uint64_t lost = 0;
  {
    FailingFiles files(GetParam(), at);
    StoreOptions with = options();
    with.files = &files;
    with.on_problem = [&](const std::string& problem) { problems.push_back(problem); };
    auto writer = StoreWriter::open(directory_, with, kWall);
    // The daemon says why and does not start.
    if (!writer) {
      EXPECT_TRUE(files.struck());
      EXPECT_FALSE(writer.error().message.empty());
    } else {
      recording = (*writer)->recording();
      test::give_context(**writer);
      for (int tick = 0; tick < kTicks && !(killed && files.struck()); ++tick) {
        const auto samples = samples_of(tick);
        (*writer)->on_samples(samples);
        (*writer)->on_watermark(samples.back().time);
        if (!files.struck()) struck_at = tick + 1;
      }
      if (!(killed && files.struck())) (void)(*writer)->finish();
      // A dead writer counts nothing.
      if (!killed) lost = (*writer)->stats().lost_samples;
    }
    struck = files.struck();
    if (!struck && files.calls() < at) return false;
  }
  if (recording == 0) {
    EXPECT_TRUE(StoreWriter::open(directory_, options(), kWall));
    EXPECT_EQ(read(kEarlier).sink.samples, earlier_);
    return true;
  }
  // Somebody looks before another daemon comes, and afterwards.
  for (const bool again : {false, true}) {
    if (again) {
      auto next = StoreWriter::open(directory_, options(), kWall);
      EXPECT_TRUE(next) << next.error().message;
    }
    const Read now = look(recording);
    // Flushed twice a second, at a watermark.
    const int safe = std::max(0, (struck ? struck_at : kTicks) - 6);
    EXPECT_THAT(now.sink.samples, testing::IsSupersetOf(lines(safe)));
    if (!killed) {
      EXPECT_EQ(now.sink.samples.size() + lost, std::size_t{kTicks * kSamplesATick});
    }
    if (GetParam() == Fault::kNoSpace || GetParam() == Fault::kIo) {
      EXPECT_LE(lost, 6u * kSamplesATick);
      EXPECT_THAT(now.sink.records, testing::Contains(testing::StartsWith("plan ")));
      EXPECT_THAT(now.sink.records, testing::Contains(testing::StartsWith("code ")));
    }
    if (GetParam() == Fault::kShort) {
      EXPECT_EQ(lost, 0u);
    }
    if (!again) continue;
    // The catalogue may count what was attributed and then lost, but nothing twice.
    EXPECT_LE(now.executions.size(), 1u);
    for (const ExecutionRow& row : now.executions) {
      EXPECT_GE(row.cost.samples, now.sink.samples.size());
      EXPECT_LE(row.cost.samples, now.sink.samples.size() + lost);
      EXPECT_EQ(row.record.error, kDaemonEnded);
    }
    if (safe > 0) {
      EXPECT_EQ(now.executions.size(), 1u);
    }
  }
  // What went wrong is told when it begins, and when it ends.
  if (GetParam() == Fault::kNoSpace || GetParam() == Fault::kIo) {
    for (std::size_t i = 0; i < problems.size(); ++i) EXPECT_EQ(problems[i].empty(), i % 2 == 1);
    if (struck_at < kTicks - 12) {
      EXPECT_EQ(problems.size() % 2, 0u) << problems.back();
    }
  }
  return true;
}

TEST_P(FaultTest, AtEveryCall) {
  std::uint64_t at = 1;
  while (one_round(at)) {
    ASSERT_FALSE(HasFailure()) << "call " << at;
    ++at;
  }
  EXPECT_GT(at, 100u) << "there are so many calls";
}

std::string name_of(const testing::TestParamInfo<Fault>& info) {
  constexpr const char* kNames[] = {"NoSpace", "Full", "Io", "Kill", "Dead", "Short"};
  return kNames[static_cast<int>(info.param)];
}

INSTANTIATE_TEST_SUITE_P(Faults, FaultTest,
                         testing::Values(Fault::kNoSpace, Fault::kFull, Fault::kIo, Fault::kKill,
                                         Fault::kDead, Fault::kShort),
                         name_of);

}  // namespace
}  // namespace tailor::store
