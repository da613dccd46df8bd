#include "daemon/store/encoder.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tailor::store {
namespace {

// The executions of all META blocks, in the order of their records.
class Executions : public BlockSink {
 public:
  std::optional<std::uint64_t> block(BlockType type, std::string_view raw, const BlockContent&) override {
    if (type != BlockType::kMeta) return std::nullopt;
    v1::MetaBlock meta;
    EXPECT_TRUE(meta.ParseFromArray(raw.data(), static_cast<int>(raw.size())));
    for (const v1::MetaRecord& record : meta.records()) {
      if (record.has_execution()) seen.push_back(record.execution());
    }
    return std::nullopt;
  }
  std::vector<v1::Execution> seen;
};

profile::ExecutionRecord execution(ExecutionHandle handle, TimeNs begin) {
  profile::ExecutionRecord record;
  record.process = {7, 9};
  record.handle = handle;
  record.begin = begin;
  record.labels = {{"query", "tpch-1"}};
  return record;
}

TEST(ProfileEncoder, AShortExecutionIsWrittenOnceWithItsEnd) {
  Executions out;
  ProfileEncoder encoder(out, {});
  profile::ExecutionRecord shorter = execution(1, 100);
  encoder.on_execution(shorter);
  encoder.on_execution(execution(2, 110));
  shorter.end = 200;
  shorter.rows = 4;
  encoder.on_execution(shorter);
  encoder.flush();
  ASSERT_EQ(out.seen.size(), 2u);
  EXPECT_EQ(out.seen[0].handle(), 1u);
  EXPECT_TRUE(out.seen[0].ended());
  EXPECT_EQ(out.seen[0].end(), 200);
  EXPECT_EQ(out.seen[0].result_rows(), 4u);
  EXPECT_EQ(out.seen[0].labels_size(), 1);
  EXPECT_FALSE(out.seen[1].ended());
}

TEST(ProfileEncoder, AnExecutionThatEndsInAnotherBlockIsWrittenAgain) {
  Executions out;
  ProfileEncoder encoder(out, {});
  profile::ExecutionRecord longer = execution(1, 100);
  encoder.on_execution(longer);
  encoder.flush();
  longer.end = 200;
  encoder.on_execution(longer);
  encoder.flush();
  ASSERT_EQ(out.seen.size(), 2u);
  EXPECT_FALSE(out.seen[0].ended());
  EXPECT_TRUE(out.seen[1].ended());
}

TEST(ProfileEncoder, HandlesOfOtherProcessesAreOtherExecutions) {
  Executions out;
  ProfileEncoder encoder(out, {});
  profile::ExecutionRecord first = execution(1, 100), second = execution(1, 100);
  second.process = {8, 9};
  encoder.on_execution(first);
  encoder.on_execution(second);
  encoder.flush();
  EXPECT_EQ(out.seen.size(), 2u);
}

}  // namespace
}  // namespace tailor::store
