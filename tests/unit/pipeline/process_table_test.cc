#include "daemon/pipeline/process_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

namespace tailor::pipeline {
namespace {

// A process that has mapped much, and what is freed with it.
std::weak_ptr<const EngineWaits> add_large(ProcessTable& table, std::int32_t pid, std::size_t ranges) {
  ProcessEntry& entry = table.get({pid, 7}, 0);
  for (std::size_t i = 0; i < ranges; ++i) entry.files.map({i * 0x2000, 0x1000, 0, "/tmp/a.so", ""});
  auto waits = std::make_shared<const EngineWaits>();
  entry.waits = waits;
  entry.ended = 10;
  return waits;
}

TEST(ProcessTable, LargeProcessesAreForgottenAtOnceAndFreedOneAfterTheOther) {
  ProcessTable table(process::Limits{});
  std::vector<std::weak_ptr<const EngineWaits>> large;
  for (std::int32_t pid = 1; pid <= 4; ++pid) large.push_back(add_large(table, pid, 20'000));
  const auto freed = [&] {
    return std::ranges::count_if(large, [](const auto& each) { return each.expired(); });
  };

  EXPECT_EQ(table.trim(9), 0u) << "they live";
  EXPECT_EQ(table.trim(10), 4u);
  EXPECT_EQ(table.size(), 0u);
  EXPECT_EQ(table.find({1, 7}), nullptr);
  EXPECT_EQ(freed(), 1);
  EXPECT_EQ(table.trim(11), 0u);
  EXPECT_EQ(freed(), 2);
  table.trim(12);
  table.trim(13);
  EXPECT_EQ(freed(), 4);
}

// Children share what their parent has mapped: there is nothing to be freed with each.
TEST(ProcessTable, SmallProcessesAreFreedAtOnce) {
  ProcessTable table(process::Limits{});
  std::vector<std::weak_ptr<const EngineWaits>> small{add_large(table, 1, 10'000)};
  const process::FileRanges parents = table.find({1, 7})->files;
  for (std::int32_t pid = 2; pid <= 100; ++pid) {
    small.push_back(add_large(table, pid, 1));
    table.find({pid, 7})->files = parents;
  }
  EXPECT_EQ(table.trim(10), 100u);
  EXPECT_TRUE(std::ranges::all_of(small, [](const auto& each) { return each.expired(); }));
}

}  // namespace
}  // namespace tailor::pipeline
