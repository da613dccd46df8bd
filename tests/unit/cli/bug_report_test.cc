#include "viewer/cli/bug_report.h"

#include <gtest/gtest.h>

#include <string>

namespace tailor::cli {
namespace {

const std::string kDigest(64, 'a');

TEST(CleanForOthers, TokensAndDigestsAreRemoved) {
  const Cleaned digest = clean_for_others("digest = \"" + kDigest + "\"", "");
  EXPECT_EQ(digest.text, "digest = \"[removed]\"");
  EXPECT_EQ(digest.removed, 1u);
  EXPECT_EQ(clean_for_others("Authorization: bearer abc.def-1 end", "").text,
            "Authorization: Bearer [removed] end");
}

TEST(CleanForOthers, ExecutionsAndFingerprintsStay) {
  const std::string id(32, '7');
  EXPECT_EQ(clean_for_others("execution " + id + " of 8aa1", "").text, "execution " + id + " of 8aa1");
  EXPECT_EQ(clean_for_others(std::string(39, 'b'), "").removed, 0u);
}

TEST(CleanForOthers, UsersInPathsAndTheHostAreRemoved) {
  EXPECT_EQ(clean_for_others("/home/jane.doe/x and /home/ and /homes", "").text,
            "/home/[user]/x and /home/ and /homes");
  EXPECT_EQ(clean_for_others("db7 db71 xdb7 db7: on db7", "db7").text, "[host] db71 xdb7 [host]: on [host]");
}

TEST(CleanForOthers, TextsWithoutAnEndAreRead) {
  EXPECT_EQ(clean_for_others("", "host").text, "");
  EXPECT_EQ(clean_for_others("bearer ", "").text, "Bearer [removed]");
  EXPECT_EQ(clean_for_others("/home/a", "").text, "/home/[user]");
  EXPECT_EQ(clean_for_others(kDigest, "").text, "[removed]");
}

}  // namespace
}  // namespace tailor::cli
