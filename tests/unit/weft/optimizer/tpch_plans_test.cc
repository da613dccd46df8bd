// Every query of the benchmark gets a sound plan of the expected shape.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/weft/optimizer/planner.h"
#include "compiler/weft/plan/print.h"
#include "tests/support/tpch_catalog.h"
#include "tests/unit/weft/optimizer/plan_check.h"

namespace tailor::weft {
namespace {

std::string query_text(const std::string& name) {
  std::ifstream file(std::string(WEFT_QUERIES) + "/" + name + ".sql");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

class TpchPlans : public testing::TestWithParam<std::string> {};

TEST_P(TpchPlans, IsSound) {
  auto catalog = tpch_catalog();
  auto plan = plan_query(query_text(GetParam()), *catalog);
  ASSERT_TRUE(plan.ok()) << plan.error().message;
  EXPECT_EQ(broken_promise(*plan), "") << to_string(*plan);
}

std::vector<std::string> names() {
  std::vector<std::string> result{"figure9", "figure10a", "figure10b", "sfja"};
  for (int i = 1; i <= 22; ++i) result.push_back("q" + std::to_string(i));
  return result;
}

INSTANTIATE_TEST_SUITE_P(Queries, TpchPlans, testing::ValuesIn(names()),
                         [](const auto& query) { return query.param; });

}  // namespace
}  // namespace tailor::weft
