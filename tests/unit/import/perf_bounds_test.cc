// perf.data that was made to do harm: what it may cost. Counts, no clocks.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "daemon/import/perf_import.h"
#include "daemon/profile/ignoring_sink.h"
#include "daemon/store/file_io.h"
#include "tests/support/record_encoder.h"

namespace tailor::importer {
namespace {

using test::RecordBytes;

// Counts what it is asked for. Beyond its bytes the file goes on as a hole, up to `size`.
class SparseInput : public store::Input {
 public:
  SparseInput(std::vector<std::byte> bytes, std::uint64_t size) : bytes_(std::move(bytes)), size_(size) {}
  Result<std::size_t> read_at(std::uint64_t offset, std::span<std::uint8_t> out) override {
    if (offset >= size_) return std::size_t{0};
    const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), size_ - offset));
    for (std::size_t i = 0; i < n; ++i)
      out[i] = offset + i < bytes_.size()
                   ? static_cast<std::uint8_t>(bytes_[static_cast<std::size_t>(offset) + i])
                   : 0;
    read += n;
    return n;
  }
  std::uint64_t read = 0;

 private:
  std::vector<std::byte> bytes_;
  std::uint64_t size_;
};

// Counts, and keeps the order of samples.
class CountingSink : public profile::IgnoringSink {
 public:
  void on_recording(const profile::RecordingInfo&) override { ++recordings; }
  void on_mapping(const profile::MappingRecord& mapping) override { mapped[mapping.path] = mapping.time; }
  void on_samples(std::span<const profile::SampleRecord> samples) override {
    for (const auto& sample : samples) times.push_back(sample.time);
  }
  int recordings = 0;
  std::vector<TimeNs> times;
  std::map<std::string, TimeNs> mapped;
};

constexpr std::uint64_t kType = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;

class PerfBoundsTest : public testing::Test {
 protected:
  PerfBoundsTest() { put({0x32454C4946524550, 16}); }

  void put(std::initializer_list<std::uint64_t> words) {
    for (const std::uint64_t word : words) test::append(file, std::as_bytes(std::span(&word, 1)));
  }
  void add(const std::vector<std::byte>& record) { test::append(file, record); }
  static std::vector<std::byte> event(std::uint64_t id, std::uint64_t ids = 1, std::uint64_t type = kType) {
    perf_event_attr attr{};
    attr.size = sizeof attr;
    attr.sample_type = type;
    attr.sample_id_all = 1;
    RecordBytes record(64, 0);
    record.raw({reinterpret_cast<const char*>(&attr), sizeof attr});
    for (std::uint64_t i = 0; i < ids; ++i) record.u64(id + i);
    return record.done();
  }
  static std::vector<std::byte> sample(std::uint64_t time, std::uint32_t pid = 7) {
    return RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER)
        .u64(0x1000)
        .u32(pid)
        .u32(pid)
        .u64(time)
        .done();
  }
  static std::vector<std::byte> mapping(std::uint64_t time, const std::string& path) {
    RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(7).u32(7).u64(0x1000).u64(0x1000).u64(0).u64s({0, 0, 0}).u32(5).u32(2).text(path);
    return record.u32(7).u32(7).u64(time).done();
  }
  static std::vector<std::byte> round() { return RecordBytes(68, 0).done(); }

  Result<PerfImported> import(std::uint64_t size = 0, std::size_t most_held = 0) {
    SparseInput input(file, std::max<std::uint64_t>(size, file.size()));
    PerfImportOptions options;
    options.find_names = false;
    options.most_held_bytes = most_held;
    options.parts = parts;
    options.perf_maps = perf_maps;
    options.progress = [this](std::uint64_t bytes) -> Status {
      told_read = std::max(told_read, bytes);
      return Ok{};
    };
    auto done = import_perf_data(input, sink, options);
    read = input.read;
    return done;
  }

  std::vector<std::byte> file;
  std::vector<PerfPart> parts;
  std::vector<std::string> perf_maps;
  CountingSink sink;
  std::uint64_t read = 0, told_read = 0;
};

// 200 GiB of nothing behind two records.
TEST_F(PerfBoundsTest, WhatIsBehindAHoleIsNotRead) {
  add(event(1));
  add(sample(5));
  const std::size_t end = file.size();
  const auto done = import(std::uint64_t{200} << 30);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(sink.times.size(), 1u);
  EXPECT_LT(read, 1u << 20);
  EXPECT_FALSE(done->complete);
  EXPECT_NE(done->damage.find("at byte " + std::to_string(end)), std::string::npos) << done->damage;
}

// perf reads a map of any size. One of many megabytes has a line that is none.
TEST_F(PerfBoundsTest, AMapOfMoreThan256MegabytesIsReadToItsEnd) {
  perf_maps = {testing::TempDir() + "/perf-" + std::to_string(::getpid()) + ".map"};
  std::ofstream(perf_maps[0]) << "7000 100 outer\n";
  std::filesystem::resize_file(perf_maps[0], std::uintmax_t{256} << 20);
  std::ofstream(perf_maps[0], std::ios::app) << "\n7100 100 behind";
  add(event(1));
  add(sample(5));
  const auto done = import();
  std::remove(perf_maps[0].c_str());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->jit_functions, 2u);
  EXPECT_TRUE(std::ranges::any_of(
      done->notes, [](const std::string& note) { return note.ends_with(": 1 lines could not be used"); }));
}

// Trace data of the hardware is passed over without a look, in a file that has it and in one that ends
// before.
TEST_F(PerfBoundsTest, TraceDataIsNotRead) {
  constexpr std::uint64_t kTrace = std::uint64_t{100} << 30;
  add(event(1));
  add(RecordBytes(71, 0).u64(kTrace).done());
  const std::uint64_t behind = file.size();
  auto whole = import(behind + kTrace);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_TRUE(whole->complete) << whole->damage;
  EXPECT_LT(read, 1u << 20);
  auto cut = import(behind + kTrace - 12345);
  ASSERT_TRUE(cut.ok()) << cut.error().message;
  EXPECT_FALSE(cut->complete);
  EXPECT_NE(cut->damage.find("12345 bytes"), std::string::npos) << cut->damage;
  EXPECT_LT(read, 1u << 20);
}

// Memory is bounded by what was read: where the records lie does not count.
TEST_F(PerfBoundsTest, RecordsBehindAHoleAllowNoMoreMemory) {
  constexpr std::uint64_t kBehind = std::uint64_t{1} << 40;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = kType;
  file.resize(8);
  put({104, sizeof attr + 16, 104, sizeof attr + 16, kBehind, kBehind, 0, 0, 0, 0, 0, 0});
  test::append(file, std::as_bytes(std::span(&attr, 1)));
  put({0, 0});
  perf_maps = {testing::TempDir() + "/perf-" + std::to_string(::getpid()) + ".map"};
  std::ofstream(perf_maps[0]) << "1000 10 f\n";
  const auto done = import(2 * kBehind);
  std::remove(perf_maps[0].c_str());
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->jit_functions, 1u);
  EXPECT_GT(told_read, 0u);
  EXPECT_LE(told_read, read + 10) << "and the map";
}

// What a piece of the file becomes goes on in several ones.
TEST_F(PerfBoundsTest, SamplesOfAGroupThatGrowAreAllThere) {
  constexpr std::uint64_t kMembers = 64, kRecords = 300;
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.sample_type = kType | PERF_SAMPLE_ID | PERF_SAMPLE_READ | PERF_SAMPLE_CALLCHAIN;
  attr.read_format = PERF_FORMAT_ID | PERF_FORMAT_GROUP;
  RecordBytes event_record(64, 0);
  event_record.raw({reinterpret_cast<const char*>(&attr), sizeof attr});
  for (std::uint64_t id = 1; id <= kMembers; ++id) event_record.u64(id);
  add(event_record.done());
  for (std::uint64_t i = 1; i <= kRecords; ++i) {
    RecordBytes record(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER);
    record.u64(0x1000).u32(7).u32(7).u64(i).u64(1).u64(kMembers);
    for (std::uint64_t id = 1; id <= kMembers; ++id) record.u64(i).u64(id);
    add(record.u64(100).u64s(std::vector<std::uint64_t>(100, 0x1000)).done());
  }
  const auto done = import();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(sink.times.size(), kMembers * kRecords);
  EXPECT_TRUE(std::ranges::is_sorted(sink.times));
  EXPECT_EQ(done->total.undecoded, 0u);
}

TEST_F(PerfBoundsTest, WithoutRoundsAsMuchWaitsAsThereIsRoomFor) {
  constexpr std::uint64_t kSamples = 100'000;
  add(event(1));
  // Nearly in order, as rings are read one after the other.
  for (std::uint64_t i = 0; i < kSamples; ++i) add(sample(1 + (i ^ 63)));
  const auto done = import(0, std::size_t{1} << 20);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_LT(done->most_held_bytes, std::size_t{4} << 20);
  EXPECT_EQ(sink.times.size() + done->total.late, kSamples) << "what is late is counted";
  EXPECT_LT(done->total.late, 64u * 20);
  EXPECT_TRUE(std::ranges::is_sorted(sink.times));
}

TEST_F(PerfBoundsTest, RecordsOfTheFutureHoldNoMemory) {
  add(event(1));
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    RecordBytes record(PERF_RECORD_COMM, 0);
    record.u32(7).u32(7).text(std::string(200, 'x'));
    add(record.u32(7).u32(7).u64(INT64_MAX - 100).done());
    if (i % 100 == 0) add(sample(i + 1));
    if (i % 100 == 0) add(round());
  }
  const auto done = import(0, std::size_t{1} << 20);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_LT(done->most_held_bytes, std::size_t{8} << 20);
  EXPECT_EQ(sink.times.size() + done->total.late, 600u);
}

TEST_F(PerfBoundsTest, TimesThatCannotBeAreAnError) {
  add(event(1));
  for (std::uint64_t i = 0; i < 60'000; ++i) add(sample(INT64_MAX));
  const auto done = import(0, std::size_t{1} << 20);
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::kExhausted);
}

// A round costs a look at every process: those without records between cost nothing.
TEST_F(PerfBoundsTest, NamesBetweenRecordsMakeNoTableAnew) {
  add(event(1, 5000));
  add(event(10'000, 5000, kType));
  file.resize(16);
  add(event(1, 5000));
  for (int i = 0; i < 2000; ++i) {
    add(RecordBytes(78, 0).u64(2).u64(1).raw("name " + std::to_string(i) + std::string(8, '\0')).done());
    add(sample(static_cast<std::uint64_t>(i) + 1));
  }
  const auto done = import();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->layouts, 1u);
  EXPECT_LE(sink.recordings, 2);
  EXPECT_EQ(sink.times.size(), 2000u);
}

TEST_F(PerfBoundsTest, EventsBetweenRecordsAreBounded) {
  const std::uint64_t type = kType | PERF_SAMPLE_IDENTIFIER;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    add(event(8000 * i + 1, 1000, type));
    add(RecordBytes(PERF_RECORD_SAMPLE, PERF_RECORD_MISC_USER).u64(1).u64(2).u32(7).u32(7).u64(i + 1).done());
  }
  const auto done = import();
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::kExhausted);
  EXPECT_NE(done.error().message.find("again and again"), std::string::npos);
}

// `perf inject --jit` of before 2021 writes the mappings of all generated code where its dump was mapped,
// which is long before, and leaves the rounds in.
TEST_F(PerfBoundsTest, MappingsToldAheadOfTheirTimeMakeNoSampleLate) {
  constexpr std::uint64_t kSamples = 50'000;
  add(event(1));
  add(mapping(40'000, "/tmp/jitted-7-1.so"));
  add(mapping(49'000, "/tmp/jitted-7-2.so"));
  for (std::uint64_t i = 1; i <= kSamples; ++i) {
    add(sample(i));
    if (i % 500 == 0) add(round());
  }
  const auto done = import();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->total.late, 0u);
  EXPECT_EQ(sink.times.size(), kSamples);
  EXPECT_EQ(sink.mapped["/tmp/jitted-7-2.so"], 49'000);
}

// The files of a directory have records of the same time.
TEST_F(PerfBoundsTest, FilesOfADirectoryAreReadTogether) {
  add(event(1));
  add(sample(1));
  std::vector<std::byte> first, second;
  for (std::uint64_t i = 0; i < 60'000; ++i) {
    test::append(first, sample(2 + 2 * i, 7));
    test::append(second, sample(3 + 2 * i, 8));
  }
  SparseInput one(first, first.size()), other(second, second.size());
  parts = {{&one, "data.0"}, {&other, "data.1"}};
  const auto done = import(0, std::size_t{2} << 20);
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(done->total.late, 0u);
  EXPECT_EQ(sink.times.size(), 120'001u);
  EXPECT_TRUE(std::ranges::is_sorted(sink.times));
}

TEST_F(PerfBoundsTest, OfADirectoryIsSaidWhichFileIsDamaged) {
  add(event(1));
  SparseInput broken(sample(5), 4096);
  parts = {{&broken, "data.3"}};
  const auto done = import();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(sink.times.size(), 1u);
  EXPECT_NE(done->damage.find("of data.3"), std::string::npos) << done->damage;
}

// A thousand bytes of a mapping hold as many processes as one likes.
TEST_F(PerfBoundsTest, ForksShareWhatTheirParentMapped) {
  add(event(1));
  for (std::uint64_t i = 0; i < 2000; ++i) {
    RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
    record.u32(7)
        .u32(7)
        .u64(0x10000 * (i + 1))
        .u64(0x1000)
        .u64(0)
        .u64s({0, 0, 0})
        .u32(3)
        .u32(2)
        .text("//anon");
    add(record.u32(7).u32(7).u64(1).done());
  }
  for (std::uint32_t i = 0; i < 20'000; ++i) {
    RecordBytes record(PERF_RECORD_FORK, 0);
    record.u32(1000 + i).u32(7).u32(1000 + i).u32(7).u64(2 + i);
    add(record.u32(7).u32(7).u64(2 + i).done());
  }
  add(sample(100'000));
  const auto done = import();
  ASSERT_TRUE(done.ok()) << done.error().message;
  EXPECT_EQ(sink.times.size(), 1u);
}

}  // namespace
}  // namespace tailor::importer
