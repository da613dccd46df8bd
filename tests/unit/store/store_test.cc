// The store as a directory: what is given comes back, across segments, crashes and retention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "daemon/store/store_directory.h"
#include "daemon/store/store_reader.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr TimeNs kSecond = 1'000'000'000;

class StoreTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/store_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  std::unique_ptr<StoreWriter> open(StoreOptions options = {}, std::uint64_t wall = kWall) {
    auto writer = StoreWriter::open(directory_, options, wall);
    EXPECT_TRUE(writer) << (writer ? "" : writer.error().message);
    return writer ? std::move(*writer) : nullptr;
  }

  struct Read {
    test::TextSink sink;
    ReadReport report;
    std::vector<ExecutionRow> executions;
  };
  Read read(RecordingNumber recording, StoreSelection selection = {}) {
    Read out;
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue) << catalogue.error().message;
    selection.recording = recording;
    SaidLoss loss;
    auto ok = read_store(directory_, *catalogue, selection, out.sink, out.report, loss);
    EXPECT_TRUE(ok) << ok.error().message;
    auto executions = catalogue->executions(100);
    EXPECT_TRUE(executions);
    out.executions = std::move(*executions);
    return out;
  }

  std::string directory_;
};

// Samples of `seconds`, one a millisecond, watermarks every 100 ms.
void give_seconds(profile::ProfileSink& sink, TimeNs from, int seconds) {
  std::mt19937 random(1);
  for (int tick = 0; tick < seconds * 10; ++tick) {
    std::vector<profile::SampleRecord> samples;
    for (int i = 0; i < 100; ++i) {
      samples.push_back(test::ir_sample(from + (tick * 100 + i) * TimeNs{1'000'000},
                                        1 + static_cast<std::uint32_t>(i % 9)));
      samples.back().ip += random() % 4096;  // so that segments do not shrink to nothing
    }
    sink.on_samples(samples);
    sink.on_watermark(samples.back().time);
  }
}

TEST_F(StoreTest, GivesBackWhatWasGiven) {
  test::TextSink given;
  test::give_profile(given, 20);
  auto writer = open();
  test::give_profile(*writer, 20);
  ASSERT_TRUE(writer->finish());
  const Read r = read(writer->recording());
  EXPECT_TRUE(r.report.clean()) << r.report.first_problem;
  EXPECT_EQ(r.sink.samples, given.samples);
  EXPECT_EQ(r.sink.activity, given.activity);
  EXPECT_THAT(r.sink.records, testing::IsSupersetOf(given.records));
  ASSERT_EQ(r.executions.size(), 1u);
  EXPECT_EQ(r.executions[0].plan_name, "figure-9");
  EXPECT_EQ(r.executions[0].cost.samples, 320u);
  EXPECT_EQ(r.executions[0].wall_begin_ns, kWall);
}

TEST_F(StoreTest, ReadableWhileWritten) {
  auto writer = open();
  test::give_context(*writer);
  give_seconds(*writer, test::kSampleStart, 3);
  ASSERT_TRUE(writer->flush());
  const Read r = read(writer->recording());
  EXPECT_EQ(r.sink.samples.size(), 3000u);
  EXPECT_EQ(r.report.tail_bytes, 0u);
  ASSERT_EQ(r.executions.size(), 1u);
  EXPECT_EQ(r.executions[0].record.end, kTimeMax);
}

TEST_F(StoreTest, RollsAndKeepsTheDictionary) {
  auto writer = open({.segment_time = 2 * kSecond});
  test::give_context(*writer);
  give_seconds(*writer, test::kSampleStart, 11);
  ASSERT_TRUE(writer->finish());
  auto files = list_segments(directory_);
  ASSERT_TRUE(files);
  EXPECT_GE(files->size(), 5u);
  const Read all = read(writer->recording());
  EXPECT_EQ(all.sink.samples.size(), 11'000u);
  EXPECT_THAT(all.sink.records, testing::Contains(testing::StartsWith("plan ")));
  // A part of the time comes from few segments, with everything it names.
  const Read part = read(writer->recording(),
                         {.from = test::kSampleStart + 5 * kSecond, .to = test::kSampleStart + 6 * kSecond});
  EXPECT_LT(part.sink.samples.size(), 6000u);
  EXPECT_GE(part.sink.samples.size(), 1000u);
  EXPECT_THAT(part.sink.records, testing::Contains(testing::StartsWith("plan ")));
  EXPECT_THAT(part.sink.records, testing::Contains(testing::StartsWith("recording ")));
  EXPECT_THAT(part.sink.records, testing::Contains(testing::StartsWith("execution ")));
  EXPECT_EQ(part.executions[0].cost.samples, 11'000u);
}

TEST_F(StoreTest, KilledWriterLosesNothingThatWasFlushed) {
  RecordingNumber first = 0;
  {
    auto writer = open();
    first = writer->recording();
    test::give_context(*writer);
    give_seconds(*writer, test::kSampleStart, 3);
    ASSERT_TRUE(writer->flush());
  }  // not finished: as after kill -9
  auto next = open();
  ASSERT_TRUE(next);
  EXPECT_NE(next->recording(), first);
  const Read r = read(first);
  EXPECT_EQ(r.sink.samples.size(), 3000u);
  ASSERT_EQ(r.executions.size(), 1u);
  EXPECT_EQ(r.executions[0].cost.samples, 3000u) << "counted once, though catalogued again";
}

TEST_F(StoreTest, CatalogueIsMadeAgain) {
  {
    auto writer = open({.segment_time = 2 * kSecond});
    test::give_context(*writer);
    give_seconds(*writer, test::kSampleStart, 5);
    ASSERT_TRUE(writer->finish());
  }
  const Read before = read(1);
  for (const char* how : {"removed", "garbage"}) {
    fs::remove(catalogue_path(directory_));
    if (std::string(how) == "garbage") std::ofstream(catalogue_path(directory_)) << std::string(9000, 'x');
    ASSERT_TRUE(open());
    const Read after = read(1);
    EXPECT_EQ(after.sink.samples, before.sink.samples) << how;
    ASSERT_EQ(after.executions.size(), 1u) << how;
    EXPECT_EQ(after.executions[0].cost.samples, before.executions[0].cost.samples) << how;
    EXPECT_EQ(after.executions[0].plan_name, "figure-9") << how;
  }
}

TEST_F(StoreTest, SecondWriterIsRefused) {
  auto writer = open();
  auto second = StoreWriter::open(directory_, {}, kWall);
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error().message, testing::HasSubstr("another process"));
}

TEST_F(StoreTest, RetentionBySize) {
  auto writer = open({.segment_time = 2 * kSecond, .keep_bytes = 100'000});
  test::give_context(*writer);
  give_seconds(*writer, test::kSampleStart, 60);
  ASSERT_TRUE(writer->finish());
  std::uint64_t bytes = 0;
  auto files = list_segments(directory_);
  for (const SegmentFile& file : *files) bytes += file.bytes;
  EXPECT_LT(bytes, 200'000u);
  const Read r = read(writer->recording());
  EXPECT_GT(r.sink.samples.size(), 1000u);
  EXPECT_LT(r.sink.samples.size(), 60'000u);
  EXPECT_THAT(r.sink.records, testing::Contains(testing::StartsWith("plan "))) << "dictionaries in use stay";
  EXPECT_EQ(r.executions.size(), 1u) << "it still runs";
}

TEST_F(StoreTest, RetentionByAgeDropsDictionariesToo) {
  {
    auto writer = open();
    test::give_profile(*writer, 10);
    ASSERT_TRUE(writer->finish());
  }
  ASSERT_EQ(read(1).executions.size(), 1u);
  auto later = open({}, kWall + 30ull * 86'400 * 1'000'000'000);
  auto files = list_segments(directory_);
  ASSERT_TRUE(files);
  for (const SegmentFile& file : *files) EXPECT_GE(file.number, later->recording());
  EXPECT_TRUE(read(later->recording()).executions.empty());
}

TEST_F(StoreTest, MissingSegmentIsCountedNotFatal) {
  auto writer = open({.segment_time = 2 * kSecond});
  test::give_context(*writer);
  give_seconds(*writer, test::kSampleStart, 9);
  ASSERT_TRUE(writer->finish());
  auto files = list_segments(directory_);
  fs::remove(segment_path(directory_, (*files)[2].number, (*files)[2].kind));
  const Read r = read(writer->recording());
  EXPECT_EQ(r.report.missing_blocks, 1u);
  EXPECT_FALSE(r.report.clean());
}

TEST_F(StoreTest, FindsExecutionsByTheStartOfTheirId) {
  auto writer = open();
  test::give_profile(*writer, 1);
  ASSERT_TRUE(writer->finish());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  EXPECT_EQ(catalogue->find_executions("e1e1")->size(), 1u);
  EXPECT_EQ(catalogue->find_executions("%")->size(), 0u);
  EXPECT_EQ(catalogue->find_executions("' OR 1=1 --")->size(), 0u);
}

}  // namespace
}  // namespace tailor::store
