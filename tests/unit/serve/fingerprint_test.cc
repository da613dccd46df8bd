// What makes two executions runs of the same query.
#include "daemon/serve/fingerprint.h"

#include <gtest/gtest.h>

namespace tailor::serve {
namespace {

using Labels = std::vector<std::pair<std::string, std::string>>;

std::string of(Labels labels, const std::string& plan = "plan") {
  store::ExecutionRow row;
  row.record.labels = std::move(labels);
  row.plan_name = plan;
  return fingerprint_of(row);
}

// As an engine cuts them off.
const std::string kLongBegin = "select " + std::string(113, 'a');

TEST(Fingerprint, TheEnginesIdTellsTextsApartThatBeginAlike) {
  const std::string one = of({{"query", kLongBegin}, {"query_id", "9109166609933174448"}});
  const std::string other = of({{"query", kLongBegin}, {"query_id", "-1223372036854775808"}});
  EXPECT_NE(one, other);
  EXPECT_EQ(one, "7e6a42c4f0ea86b0");
  EXPECT_EQ(other, "ef05b59d3b200000");
  // Without the ids they are one.
  EXPECT_EQ(of({{"query", kLongBegin}}), of({{"query", kLongBegin}}));
}

TEST(Fingerprint, ASignDoesNotMatter) {
  EXPECT_EQ(of({{"query_id", "-1"}}), of({{"query_id", "18446744073709551615"}}));
  EXPECT_EQ(of({{"query_id", "-1"}}), "ffffffffffffffff");
}

TEST(Fingerprint, AnIdThatIsNoneIsNotUsed) {
  const std::string by_text = of({{"query", "select 1"}});
  for (const char* none : {"0", "", "-", "-0", "12x", " 12", "18446744073709551616", "-9223372036854775809"})
    EXPECT_EQ(of({{"query", "select 1"}, {"query_id", none}}), by_text) << none;
}

TEST(Fingerprint, TheLabelFingerprintComesFirst) {
  EXPECT_EQ(of({{"query_id", "12"}, {"fingerprint", "own-1"}}), "own-1");
  EXPECT_EQ(of({{"query_id", "12"}, {"fingerprint", "NOT ONE"}}), "000000000000000c");
}

TEST(Fingerprint, TextsThatDifferInLiteralsAreOne) {
  EXPECT_EQ(of({{"query", "select a from t where b = 1"}}), of({{"query", "SELECT a FROM t  WHERE b = 2"}}));
  EXPECT_NE(of({{"query", "select a from t where b = 1"}}), of({{"query", "select c from t where b = 1"}}));
  EXPECT_NE(of({}, "one plan"), of({}, "another plan"));
}

}  // namespace
}  // namespace tailor::serve
