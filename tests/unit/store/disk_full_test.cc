#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/store/file_writer.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/memory_output.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

struct Outcome {
  WriteStats stats;
  bool finished_ok = false;
  ReadReport report;
  SaidLoss loss;
  test::TextSink sink;
};

Outcome write_with(std::uint64_t fail_append) {
  std::string bytes;
  auto output = std::make_unique<test::MemoryOutput>(bytes);
  output->fail_append = fail_append;
  auto writer = FileWriter::on(std::move(output), {.rows_per_block = 16});
  test::give_profile(*writer, 6);
  Outcome out;
  out.finished_ok = writer->finish().ok();
  out.stats = writer->stats();
  MemoryInput input(bytes);
  EXPECT_TRUE(read_profile(input, out.sink, out.report, out.loss));
  return out;
}

// Whichever write fails, once: dictionaries and records arrive all the same, and lost samples are counted.
TEST(DiskFull, AtEveryWrite) {
  const Outcome whole = write_with(0);
  ASSERT_TRUE(whole.finished_ok);
  const std::uint64_t appends = whole.stats.blocks + 1;
  std::uint64_t failures_with_loss = 0;
  for (std::uint64_t n = 1; n < appends; ++n) {
    const Outcome o = write_with(n);
    EXPECT_EQ(o.sink.samples.size() + o.stats.lost_samples, whole.sink.samples.size()) << n;
    EXPECT_EQ(o.sink.records, whole.sink.records) << n;
    EXPECT_EQ(o.loss.samples, o.stats.lost_samples) << n;
    EXPECT_EQ(o.finished_ok, o.stats.lost_blocks == 0) << n;
    if (o.stats.lost_blocks) {
      ++failures_with_loss;
      EXPECT_THAT(o.loss.reason, testing::HasSubstr("No space left")) << n;
    }
  }
  EXPECT_GE(failures_with_loss, 6u);
}

TEST(DiskFull, ForGood) {
  std::string bytes;
  auto output = std::make_unique<test::MemoryOutput>(bytes);
  output->capacity = 2000;
  auto writer = FileWriter::on(std::move(output), {.rows_per_block = 16});
  test::give_profile(*writer, 6);
  auto finished = writer->finish();
  ASSERT_FALSE(finished);
  EXPECT_THAT(finished.error().message, testing::HasSubstr("No space left"));
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
  MemoryInput input(bytes);
  ASSERT_TRUE(read_profile(input, sink, report, loss));
  EXPECT_FALSE(report.finished);
  EXPECT_EQ(report.damaged_spots, 0u);
}

}  // namespace
}  // namespace tailor::store
