#include "viewer/cli/import_progress.h"

#include <gtest/gtest.h>

namespace tailor::cli {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

TEST(ImportProgress, SaysHowFarHowFastAndHowLong) {
  EXPECT_EQ(import_progress(0, 400 * kMiB, 0.1), "0 %");
  EXPECT_EQ(import_progress(99 * kMiB, 400 * kMiB, 0.5), "24 %") << "how fast is not known yet";
  const std::string text = import_progress(100 * kMiB, 400 * kMiB, 2);
  EXPECT_TRUE(text.starts_with("25 %, 50")) << text;
  EXPECT_TRUE(text.ends_with("/s, 6 s left")) << text;
  EXPECT_TRUE(import_progress(400 * kMiB, 400 * kMiB, 8).ends_with("/s, 0 s left"));
  // A file that grew meanwhile.
  EXPECT_TRUE(import_progress(500 * kMiB, 400 * kMiB, 8).starts_with("100 %"));
}

TEST(ImportProgress, OfAPipeNobodyKnowsTheEnd) {
  const std::string text = import_progress(100 * kMiB, 0, 2);
  EXPECT_EQ(text.find('%'), std::string::npos) << text;
  EXPECT_EQ(text.find("left"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("/s")) << text;
}

TEST(ImportProgress, IsNoWiderThanItsColumns) {
  EXPECT_LE(import_progress(1, UINT64_MAX, 1).size(), kProgressWidth);
  EXPECT_LE(import_progress(UINT64_MAX, 0, 1e9).size(), kProgressWidth);
  EXPECT_LE(import_progress(UINT64_MAX - 1, UINT64_MAX, 1.5).size(), kProgressWidth);
}

}  // namespace
}  // namespace tailor::cli
