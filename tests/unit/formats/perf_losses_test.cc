#include "daemon/formats/perf_losses.h"

#include <gtest/gtest.h>

#include "daemon/formats/perf_data.h"
#include "tests/support/record_encoder.h"

namespace tailor::formats {
namespace {

using test::RecordBytes;

constexpr std::uint16_t kByFilter = 1 << 15;

perf_event_attr event_with(std::uint64_t more = 0) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | more;
  attr.sample_id_all = 1;
  return attr;
}

RecordBytes lost_samples(std::uint64_t count, std::uint32_t thread, std::uint64_t time,
                         std::uint16_t misc = 0) {
  return RecordBytes(PERF_RECORD_LOST_SAMPLES, misc).u64(count).u32(thread).u32(thread).u64(time);
}

TEST(PerfLosses, TheRecordersHaveNeitherThreadNorTime) {
  PerfLosses losses;
  EXPECT_TRUE(losses.take(lost_samples(5, 0, 0).done(), event_with()));
  EXPECT_FALSE(losses.take(lost_samples(7, 0, 100).done(), event_with())) << "of the kernel, on an idle CPU";
  EXPECT_FALSE(losses.take(lost_samples(7, 9, 0).done(), event_with()));
  EXPECT_EQ(losses.lost(), 5u);
}

TEST(PerfLosses, TheyMayHaveTheIdOfTheirEvent) {
  PerfLosses losses;
  EXPECT_TRUE(losses.take(lost_samples(5, 0, 0).u64(814).done(), event_with(PERF_SAMPLE_ID)));
  EXPECT_TRUE(losses.take(lost_samples(6, 0, 0).u64(0).u64(815).done(),
                          event_with(PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER)));
  EXPECT_EQ(losses.lost(), 11u);
}

TEST(PerfLosses, WhatAFilterLeftOutIsNotLost) {
  PerfLosses losses;
  EXPECT_TRUE(losses.take(lost_samples(5, 0, 0, kByFilter).done(), event_with()));
  EXPECT_EQ(losses.lost(), 0u);
  EXPECT_EQ(losses.filtered(), 5u);
}

TEST(PerfLosses, WhatDoesNotFitIsNotTaken) {
  PerfLosses losses;
  const std::vector<std::byte> whole = lost_samples(5, 0, 0).done();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_FALSE(losses.take(PerfBytes(whole).first(size), event_with())) << size;
  EXPECT_FALSE(losses.take(lost_samples(5, 0, 0).u64(0).done(), event_with()));
  perf_event_attr nameless = event_with();
  nameless.sample_type = PERF_SAMPLE_IP;
  EXPECT_FALSE(losses.take(RecordBytes(PERF_RECORD_LOST_SAMPLES, 0).u64(5).done(), nameless));
  EXPECT_EQ(losses.lost(), 0u);
}

// A recording in which a ring was full once or twice. `last`: of those that the recorder counted.
PerfData lossy(std::uint64_t last) {
  std::vector<std::byte> file;
  for (const std::uint64_t word : {std::uint64_t{0x32454C4946524550}, std::uint64_t{16}})
    test::append(file, std::as_bytes(std::span(&word, 1)));
  const perf_event_attr attr = event_with();
  test::append(file,
               RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(1).done());
  test::append(file, RecordBytes(PERF_RECORD_LOST, 0).u64(1).u64(40).u32(9).u32(9).u64(100).done());
  test::append(file, lost_samples(3, 9, 150).done());
  test::append(file, lost_samples(last, 0, 0).done());
  auto data = read_perf_data(file);
  EXPECT_TRUE(data.ok());
  return data.ok() ? *std::move(data) : PerfData{};
}

TEST(PerfLosses, WhatTheKernelToldIsNotCountedTwice) {
  EXPECT_EQ(lossy(40).counts.lost, 40u);
  EXPECT_EQ(lossy(47).counts.lost, 47u) << "7 at the end, which the kernel had no occasion to tell";
  EXPECT_EQ(lossy(1).counts.lost, 40u);
  EXPECT_EQ(lossy(40).counts.lost_samples, 3u) << "in the hardware";
  EXPECT_EQ(lossy(40).tool_records, 2u);
}

}  // namespace
}  // namespace tailor::formats
