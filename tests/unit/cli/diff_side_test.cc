#include "viewer/cli/diff_side.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace tailor::cli {
namespace {

using Parts = std::array<std::string, 5>;  // what, execution, fingerprint, since, until

Parts parts(std::string_view text) {
  const auto side = parse_diff_side(text);
  if (!side) return {side.error().message};
  return {side->what, side->execution, side->fingerprint, side->since, side->until};
}

TEST(DiffSide, FilesAndExecutions) {
  EXPECT_EQ(parts("a.tailor"), (Parts{"a.tailor", "", "", "", ""}));
  EXPECT_EQ(parts("e1e1"), (Parts{"e1e1", "", "", "", ""}));
  EXPECT_EQ(parts("odd#name.tailor#e1"), (Parts{"odd#name.tailor", "e1", "", "", ""}));
}

TEST(DiffSide, RunsOfAQuery) {
  EXPECT_EQ(parts("fingerprint:12ab"), (Parts{"", "", "12ab", "", ""}));
  EXPECT_EQ(parts("a.tailor#fingerprint:12ab"), (Parts{"a.tailor", "", "12ab", "", ""}));
  EXPECT_EQ(parts("fingerprint:12ab@yesterday..today"), (Parts{"", "", "12ab", "yesterday", "today"}));
  EXPECT_EQ(parts("fingerprint:12ab@..2026-01-31 14:00"), (Parts{"", "", "12ab", "", "2026-01-31 14:00"}));
  EXPECT_EQ(parts("a.tailor#fingerprint:12ab@-1h.."), (Parts{"a.tailor", "", "12ab", "-1h", ""}));
}

TEST(DiffSide, HalfOfOneIsAnError) {
  for (const char* text : {"fingerprint:", "fingerprint:@today..", "fingerprint:12ab@",
                           "fingerprint:12ab@today", "fingerprint:12ab@..", "a.tailor#fingerprint:"})
    EXPECT_THAT(parts(text)[0], testing::HasSubstr("fingerprint:DIGITS@SINCE..UNTIL")) << text;
}

}  // namespace
}  // namespace tailor::cli
