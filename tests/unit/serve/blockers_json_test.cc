// A row of a list of executions says who held the locks that it waited for.
#include <gtest/gtest.h>

#include <memory>

#include "daemon/profile/blockers.h"
#include "daemon/serve/views.h"

namespace tailor::serve {
namespace {

TEST(BlockersJson, TimesAreSinceTheBegin) {
  store::ExecutionRow row;
  EXPECT_FALSE(execution_json(row, nullptr).contains("blockers")) << "nobody was seen";
  row.record.begin = 1000;
  auto blockers = std::make_shared<profile::Blockers>();
  ExecutionId id;
  id.bytes.fill(0xab);
  blockers->seen = {{{42, 7}, id, 1500, 2500}, {{43, 8}, {}, kTimeMin, kTimeMax}};
  blockers->left_out = 3;
  row.record.blockers = blockers;
  const Json json = execution_json(row, nullptr);
  ASSERT_EQ(json["blockers"].size(), 2u);
  const Json& first = json["blockers"][0];
  EXPECT_EQ(first["pid"], 42);
  EXPECT_EQ(first["process_start"], 7);
  EXPECT_EQ(first["execution"], "abababababababababababababababab");
  EXPECT_EQ(first["from_ns"], 500);
  EXPECT_EQ(first["to_ns"], 1500);
  const Json& second = json["blockers"][1];
  EXPECT_TRUE(second["execution"].is_null());
  EXPECT_EQ(second["from_ns"], 0) << "times of a file may be any numbers";
  EXPECT_EQ(json["blockers_left_out"], 3);
}

}  // namespace
}  // namespace tailor::serve
