// The store as a directory: what is given comes back, across segments, crashes and retention.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>

#include "daemon/store/checked_pages.h"
#include "daemon/store/crc32c.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;

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
  // It ended in the block in which it began, and so it is there once, with its end.
  const auto superseded = std::ranges::find_if(given.records, [](const std::string& record) {
    return record.starts_with("execution ") && record.find("ended: true") == std::string::npos;
  });
  ASSERT_NE(superseded, given.records.end());
  given.records.erase(superseded);
  EXPECT_THAT(r.sink.records, testing::IsSupersetOf(given.records));
  ASSERT_EQ(r.executions.size(), 1u);
  EXPECT_EQ(r.executions[0].plan_name, "figure-9");
  EXPECT_EQ(r.executions[0].cost.samples, 320u);
  EXPECT_EQ(r.executions[0].wall_begin_ns, kWall);
}

mode_t mode_of(const std::string& path) {
  struct stat info{};
  EXPECT_EQ(::stat(path.c_str(), &info), 0) << path;
  return info.st_mode & 07777;
}

TEST_F(StoreTest, IsClosedToOthersWhateverTheUmask) {
  const mode_t before = ::umask(0);
  auto writer = open();
  test::give_profile(*writer, 20);
  ASSERT_TRUE(writer->finish());
  writer.reset();
  ::umask(before);
  EXPECT_EQ(mode_of(directory_), 0750u);
  for (const auto& file : fs::directory_iterator(directory_)) EXPECT_EQ(mode_of(file.path()), 0640u) << file;
}

TEST_F(StoreTest, OneThatIsTooOpenIsTightened) {
  fs::create_directories(directory_);
  ASSERT_EQ(::chmod(directory_.c_str(), 0777), 0);
  std::ofstream(catalogue_path(directory_)).flush();
  ASSERT_EQ(::chmod(catalogue_path(directory_).c_str(), 0666), 0);
  auto writer = open();
  EXPECT_EQ(mode_of(directory_), 0750u);
  EXPECT_EQ(mode_of(catalogue_path(directory_)), 0640u);
}

TEST_F(StoreTest, OneOfAnotherUserIsRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give a directory away";
  fs::create_directories(directory_);
  ASSERT_EQ(::chown(directory_.c_str(), 12345, 12345), 0);
  const auto writer = StoreWriter::open(directory_, {}, kWall);
  ASSERT_FALSE(writer);
  EXPECT_NE(writer.error().message.find("user 12345"), std::string::npos) << writer.error().message;
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

profile::ExecutionRecord execution_of(ProcessId process, ExecutionHandle handle, TimeNs begin, TimeNs heard) {
  profile::ExecutionRecord execution;
  execution.process = process;
  execution.handle = handle;
  execution.id.bytes.fill(0xAB);
  execution.begin = begin;
  execution.heard = heard;
  return execution;
}

TEST_F(StoreTest, WhatRanWhenTheDaemonWasKilledHasEnded) {
  auto writer = open();
  const RecordingNumber killed = writer->recording();
  test::give_context(*writer);
  give_seconds(*writer, test::kSampleStart, 3);
  ASSERT_TRUE(writer->flush());
  writer.reset();  // as after kill -9: nothing is finished
  auto next = open();
  const Read r = read(killed);
  ASSERT_EQ(r.executions.size(), 1u);
  EXPECT_EQ(r.executions[0].record.error, "daemon ended");
  EXPECT_GT(r.executions[0].record.end, test::kSampleStart);
  EXPECT_LT(r.executions[0].record.end, kTimeMax);
  // The profile says the same, though its segments do not.
  EXPECT_THAT(r.sink.records, testing::Contains(testing::HasSubstr("daemon ended")));
}

// Another process may have copied the id: it gets a report of its own, not the other's.
TEST_F(StoreTest, AnExecutionIsOfWhoWasHeardOfFirst) {
  auto writer = open();
  const ProcessId first{10, 1}, thief{11, 1};
  writer->on_execution(execution_of(first, 1, 100, 1000));
  writer->on_execution(execution_of(thief, 1, 1, 2000));  // it claims to have begun before
  writer->on_execution(execution_of(thief, 2, 500, 2001));
  writer->on_watermark(1);
  ASSERT_TRUE(writer->flush());
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue);
  for (const std::size_t digits : {32, 8, 1}) {
    std::string prefix;
    while (prefix.size() < digits) prefix += prefix.size() % 2 == 0 ? 'a' : 'b';
    auto rows = catalogue->find_executions(prefix);
    ASSERT_TRUE(rows);
    ASSERT_EQ(rows->size(), 1u) << prefix;
    EXPECT_EQ(rows->front().record.process, first);
  }
}

TEST_F(StoreTest, TotalsOfProcessesThatAreOverAreNotRepeatedForEver) {
  auto writer = open({.segment_time = 2 * kSecond});
  test::give_context(*writer);
  for (std::int32_t pid = 1; pid <= 100; ++pid) {
    profile::Accounting accounting;
    accounting.process = {pid, 1};
    accounting.received = 1;
    writer->on_accounting(accounting);
  }
  give_seconds(*writer, test::kSampleStart, 11);
  ASSERT_TRUE(writer->finish());
  // Each was told, and told again with the segment after that.
  const Read all = read(writer->recording());
  const auto told = std::count_if(all.sink.records.begin(), all.sink.records.end(),
                                  [](const std::string& record) { return record.starts_with("accounting"); });
  EXPECT_GE(told, 100);
  EXPECT_LE(told, 2 * 100 + 20);
}

// An older daemon after a newer one: it says so, and changes nothing.
TEST_F(StoreTest, OneOfANewerProgramIsRefused) {
  {
    auto writer = open();
    test::give_profile(*writer, 1);
    ASSERT_TRUE(writer->finish());
  }
  const auto refused = [&] {
    std::map<std::string, std::uintmax_t> before, after;
    const auto look = [&](auto& files) {
      for (const auto& entry : fs::directory_iterator(directory_)) {
        if (!entry.path().native().ends_with("-journal")) files[entry.path()] = entry.file_size();
      }
    };
    look(before);
    auto writer = StoreWriter::open(directory_, {}, kWall);
    look(after);
    EXPECT_EQ(before, after);
    return writer ? std::string() : writer.error().message;
  };
  const std::string segment = segment_path(directory_, 9, FileKind::kDataSegment);
  {
    auto header = encode(FileHeader{FileKind::kDataSegment, 0, 9, 8});
    header[8] = 2;  // the major version
    const std::uint32_t sum = crc32c(std::span(header).first(28));
    std::memcpy(&header[28], &sum, sizeof sum);
    std::ofstream(segment, std::ios::binary)
        .write(reinterpret_cast<const char*>(header.data()), header.size());
  }
  EXPECT_THAT(refused(), testing::AllOf(testing::HasSubstr("format version 2"), testing::HasSubstr(segment)));
  fs::remove(segment);
  sqlite3* db = nullptr;
  const std::string path = catalogue_path(directory_);
  ASSERT_EQ(sqlite3_open_v2(path.c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, "PRAGMA user_version=3", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(db);
  EXPECT_THAT(refused(), testing::HasSubstr("a newer tailord wrote this store"));
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

profile::RecordingInfo told(std::uint64_t wall_ns) {
  profile::RecordingInfo info;
  info.start = test::kSampleStart;
  info.wall_clock_ns = wall_ns;
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
  return info;
}

// A host may begin with any time of day, and be told the right one later.
TEST_F(StoreTest, AClockThatIsSetMakesNothingOfTheRecordingOld) {
  constexpr std::uint64_t kYear = 365ull * 86'400 * 1'000'000'000;
  for (const std::uint64_t wrong : {kWall - 5 * kYear, kWall + 5 * kYear}) {
    fs::remove_all(directory_);
    auto writer = open({.segment_time = 2 * kSecond, .keep_ns = 20 * kSecond}, wrong);
    test::give_context(*writer);
    writer->on_recording(told(wrong));
    give_seconds(*writer, test::kSampleStart, 10);
    writer->on_recording(told(kWall));
    give_seconds(*writer, test::kSampleStart + 10 * kSecond, 5);
    ASSERT_TRUE(writer->flush());
    EXPECT_EQ(read(writer->recording()).sink.samples.size(), 15'000u) << "nothing is as old as that";
    // What really is goes.
    give_seconds(*writer, test::kSampleStart + 15 * kSecond, 45);
    ASSERT_TRUE(writer->finish());
    const std::size_t kept = read(writer->recording()).sink.samples.size();
    EXPECT_GE(kept, 20'000u);
    EXPECT_LE(kept, 26'000u);
    // Segments that began since have the right time.
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    auto segments = catalogue->segments();
    ASSERT_TRUE(segments);
    EXPECT_NEAR(static_cast<double>(segments->back().wall_ns), static_cast<double>(kWall), 60e9);
  }
}

TEST_F(StoreTest, ACatalogueThatIsMadeAgainKnowsWhenEachSegmentBegan) {
  std::map<std::uint64_t, std::uint64_t> began;
  {
    auto writer = open({.segment_time = 2 * kSecond});
    test::give_context(*writer);
    writer->on_recording(told(kWall));
    give_seconds(*writer, test::kSampleStart, 10);
    ASSERT_TRUE(writer->finish());
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    const auto segments = catalogue->segments();
    for (const SegmentRow& row : *segments)
      if (row.samples > 0) began[row.number] = row.wall_ns;
  }
  ASSERT_GE(began.size(), 4u);
  fs::remove(catalogue_path(directory_));
  auto again = open();
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
  std::size_t found = 0;
  const auto segments = catalogue->segments();
  for (const SegmentRow& row : *segments) {
    if (!began.contains(row.number)) continue;
    ++found;
    EXPECT_NEAR(static_cast<double>(row.wall_ns), static_cast<double>(began[row.number]), 0.3e9);
  }
  EXPECT_EQ(found, began.size());
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

}  // namespace
}  // namespace tailor::store
