// A segment that is written anew holds all but what is to go.
#include "daemon/store/segment_rewriter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "daemon/os/files.h"
#include "tests/support/sample_profile.h"
#include "tests/unit/store/store_fixture.h"

namespace tailor::store {
namespace {

class RewriterTest : public StoreTest {
 protected:
  struct Content {
    test::TextSink sink;
    SaidLoss loss;
  };
  Content content(const SegmentRow& row) const {
    Content out;
    ReadReport report;
    const auto input = open_file(segment_path(directory_, row.number, row.kind));
    EXPECT_TRUE(input);
    EXPECT_TRUE(read_profile(**input, out.sink, report, out.loss));
    EXPECT_TRUE(report.clean()) << report.first_problem;
    // Where a file ends, its last watermark is said once more.
    auto& records = out.sink.records;
    records.erase(std::unique(records.begin(), records.end(),
                              [](const std::string& one, const std::string& next) {
                                return one == next && one.starts_with("watermark ");
                              }),
                  records.end());
    return out;
  }
  std::vector<SegmentRow> written() {
    auto writer = open();
    test::give_profile(*writer, 20);
    EXPECT_TRUE(writer->finish());
    writer.reset();
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    return *catalogue->segments();
  }
  Result<RewrittenSegment> rewritten(const SegmentRow& row, const std::set<ProcessId>& processes) const {
    auto written = write_without(directory_, row, processes, os::real_files());
    if (!written) return written;
    if (auto ok = replace_with_rewritten(directory_, row, os::real_files()); !ok) return ok.error();
    return written;
  }
  std::string bytes_of_file(const SegmentRow& row) const {
    std::ifstream file(segment_path(directory_, row.number, row.kind), std::ios::binary);
    std::ostringstream bytes;
    bytes << file.rdbuf();
    return bytes.str();
  }
};

TEST_F(RewriterTest, WithoutNobodyItIsTheSame) {
  const std::vector<SegmentRow> rows = written();
  ASSERT_EQ(rows.size(), 2u);
  for (const SegmentRow& row : rows) {
    const Content before = content(row);
    const auto done = rewritten(row, {});
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->samples, row.samples);
    EXPECT_EQ(done->bytes, std::filesystem::file_size(segment_path(directory_, row.number, row.kind)));
    const Content after = content(row);
    EXPECT_EQ(after.sink.records, before.sink.records);
    EXPECT_EQ(after.sink.samples, before.sink.samples);
    EXPECT_EQ(after.sink.activity, before.sink.activity);
    EXPECT_EQ(after.loss.removed_samples + after.loss.removed_activity + after.loss.removed_records, 0u);
  }
}

TEST_F(RewriterTest, WhatIsKnownOfTheProcessStays) {
  for (const SegmentRow& row : written()) {
    for (int times = 0; times < 2; ++times) ASSERT_TRUE(rewritten(row, {test::kSampleProcess}));
    const Content after = content(row);
    EXPECT_TRUE(after.sink.samples.empty());
    EXPECT_TRUE(after.sink.activity.empty());
    EXPECT_EQ(after.loss.removed_samples, row.samples) << "the second time too";
    const bool is_data = row.kind == FileKind::kDataSegment;
    EXPECT_EQ(after.loss.removed_activity, is_data ? 2u : 0u);
    EXPECT_GT(after.loss.removed_records, 0u);
    EXPECT_THAT(after.sink.records,
                testing::Contains(testing::StartsWith(is_data ? "accounting " : "process ")));
    EXPECT_THAT(after.sink.records, testing::Not(testing::Contains(testing::AnyOf(
                                        testing::StartsWith("plan "), testing::StartsWith("execution ")))));
  }
}

TEST_F(RewriterTest, OneThatIsDamagedStaysAsItIs) {
  for (const SegmentRow& row : written()) {
    const std::string path = segment_path(directory_, row.number, row.kind);
    std::string bytes = bytes_of_file(row);
    bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
    std::ofstream(path, std::ios::binary) << bytes;
    EXPECT_FALSE(rewritten(row, {test::kSampleProcess}));
    EXPECT_EQ(bytes_of_file(row), bytes);
    EXPECT_FALSE(std::filesystem::exists(path + ".new"));
  }
}

TEST_F(RewriterTest, HalfOfOneIsRemovedAtTheNextStart) {
  const std::vector<SegmentRow> rows = written();
  const std::string half = segment_path(directory_, rows.front().number, rows.front().kind) + ".new";
  std::ofstream(half) << "half";
  ASSERT_TRUE(std::filesystem::exists(half));
  ASSERT_NE(open(), nullptr);
  EXPECT_FALSE(std::filesystem::exists(half));
}

}  // namespace
}  // namespace tailor::store
