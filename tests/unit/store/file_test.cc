#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "daemon/store/file_writer.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/memory_output.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

std::string write_profile(int rounds, EncoderOptions options = {}) {
  std::string bytes;
  auto writer = FileWriter::on(std::make_unique<test::MemoryOutput>(bytes), options);
  test::give_profile(*writer, rounds);
  EXPECT_TRUE(writer->finish());
  return bytes;
}

struct Read {
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
  bool ok = false;
  std::string error;
};

Read read(std::string_view bytes) {
  Read r;
  MemoryInput input(bytes);
  auto status = read_profile(input, r.sink, r.report, r.loss);
  r.ok = status.ok();
  if (!status) r.error = status.error().message;
  return r;
}

TEST(ProfileFile, GivesBackWhatWasGiven) {
  test::TextSink given;
  test::give_profile(given, 40);
  const Read r = read(write_profile(40, {.rows_per_block = 64}));
  ASSERT_TRUE(r.ok) << r.error;
  EXPECT_TRUE(r.report.clean()) << r.report.first_problem;
  EXPECT_EQ(r.sink.samples, given.samples);
  EXPECT_EQ(r.sink.activity, given.activity);
  EXPECT_THAT(r.sink.records, testing::UnorderedElementsAreArray(given.records));
}

TEST(ProfileFile, SameCallsSameBytes) {
  EXPECT_EQ(write_profile(300), write_profile(300));
}

TEST(ProfileFile, EverythingASampleNamesComesBeforeIt) {
  class Order : public test::TextSink {
   public:
    void on_samples(std::span<const profile::SampleRecord> all) override {
      records_at_first_sample = records_at_first_sample ? records_at_first_sample : records.size();
      TextSink::on_samples(all);
    }
    std::size_t records_at_first_sample = 0;
  } sink;
  const std::string bytes = write_profile(3);
  MemoryInput input(bytes);
  ReadReport report;
  SaidLoss loss;
  ASSERT_TRUE(read_profile(input, sink, report, loss));
  EXPECT_GE(sink.records_at_first_sample, 8u);  // the context that give_context gives
}

TEST(ProfileFile, AttachmentContentIsWrittenOnce) {
  std::string bytes;
  auto writer = FileWriter::on(std::make_unique<test::MemoryOutput>(bytes));
  v1::Plan plan = test::sample_plan();
  writer->on_plan({1, 1}, 0, plan);
  plan.set_id(2);
  writer->on_plan({1, 1}, 0, plan);
  writer->on_plan({9, 9}, 0, plan);  // another process: what it says of a hash does not hold for this one
  ASSERT_TRUE(writer->finish());
  const Read r = read(bytes);
  ASSERT_EQ(r.sink.records.size(), 3u);
  EXPECT_THAT(r.sink.records[0], testing::HasSubstr("avg(l_discount)"));
  EXPECT_THAT(r.sink.records[1], testing::Not(testing::HasSubstr("avg(l_discount)")));
  EXPECT_THAT(r.sink.records[2], testing::HasSubstr("avg(l_discount)"));
}

TEST(ProfileFile, ReadableWhileWritten) {
  std::string bytes;
  auto writer = FileWriter::on(std::make_unique<test::MemoryOutput>(bytes), {.flush_interval = 1000});
  test::give_context(*writer);
  writer->on_watermark(5000);
  writer->on_samples(std::vector{test::ir_sample(5500, 1)});
  writer->on_watermark(5600);
  EXPECT_EQ(read(bytes).report.samples, 0u);
  writer->on_watermark(6000);  // an interval of the watermark has passed
  const Read r = read(bytes);
  EXPECT_EQ(r.report.samples, 1u);
  EXPECT_FALSE(r.report.finished);
  EXPECT_EQ(r.report.tail_bytes, 0u);
}

TEST(ProfileFile, BytesPerSample) {
  const std::string few = write_profile(100), many = write_profile(5100);
  const double per_sample = static_cast<double>(many.size() - few.size()) / (5000 * 16);
  RecordProperty("bytes_per_sample", std::to_string(per_sample));
  EXPECT_LT(per_sample, 54) << "the paper's prototype needed 54 bytes";
}

TEST(ProfileFile, OnDisk) {
  const std::string path = testing::TempDir() + "/on_disk.tailor";
  std::filesystem::remove(path);
  auto writer = FileWriter::create(path);
  ASSERT_TRUE(writer) << writer.error().message;
  test::give_profile(**writer, 10);
  ASSERT_TRUE((*writer)->finish());
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 07, 0u) << "others may not read query texts";
  auto input = open_file(path);
  ASSERT_TRUE(input);
  ASSERT_TRUE(FileWriter::create(path)) << "one that is never finished takes nothing away";
  auto again = FileWriter::create(path);
  ASSERT_TRUE(again);
  ASSERT_TRUE((*again)->finish());  // the open reader keeps the old one
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
  ASSERT_TRUE(read_profile(**input, sink, report, loss));
  EXPECT_EQ(report.samples, 160u);
}

// The worked example of docs/profile-format.md: whoever changes the format sees it here.
TEST(ProfileFile, WorkedExample) {
  std::string bytes;
  auto writer = FileWriter::on(std::make_unique<test::MemoryOutput>(bytes));
  writer->on_component({7, 9}, 1, "compile");
  ASSERT_TRUE(writer->finish());
  std::string hex;
  for (char c : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  EXPECT_EQ(hex,
            "895441494c4f520a01000000010000000000000000000000000000008ddee5f7b754426b010000001500000015000000"
            "000000000000000034521f1d9b2ed05f0a1322110a04080710091001"
            "1a07636f6d70696c65"
            "b754426b060000000200000002000000010000000000000069371e9e60e53bf70801");
}

TEST(ProfileFile, OtherFilesAreRefused) {
  EXPECT_FALSE(open_file(testing::TempDir()));
  EXPECT_FALSE(open_file("/dev/null"));
  EXPECT_EQ(open_file("/nonexistent/x").error().code, ENOENT);
  EXPECT_THAT(read("hello, this is a text file that is long enough").error,
              testing::HasSubstr("not a Tailor"));
  EXPECT_THAT(read("").error, testing::HasSubstr("not a Tailor"));
}

}  // namespace
}  // namespace tailor::store
