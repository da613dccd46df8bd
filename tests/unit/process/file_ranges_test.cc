#include "daemon/process/file_ranges.h"

#include <gtest/gtest.h>

namespace tailor::process {
namespace {

TEST(FileRanges, OnlyWhatChangesAFileIsAChange) {
  FileRanges files;
  EXPECT_TRUE(files.map({0x1000, 0x3000, 0x5000, "/a", ""}));
  EXPECT_FALSE(files.map({0x2000, 0x1000, 0x6000, "/a", ""})) << "a page of it";
  EXPECT_FALSE(files.map({0x1000, 0x3000, 0x5000, "/a", ""}));
  EXPECT_TRUE(files.map({0x2000, 0x1000, 0x5000, "/a", ""})) << "another offset";
  EXPECT_EQ(files.size(), 3u);
  EXPECT_FALSE(files.map({0x3000, 0x1000, 0x7000, "/a", ""})) << "what is left of the first";
  EXPECT_TRUE(files.map({0x3000, 0x1000, 0x7000, "/a", "1234"})) << "another file of that name";
  EXPECT_FALSE(files.map({0, 0, 0, "/a", ""}));
  EXPECT_FALSE(files.map({UINT64_MAX - 5, 0x1000, 0, "/a", ""}));
}

TEST(FileRanges, MemoryOfNoFileEndsThemOnce) {
  FileRanges files;
  files.map({0x1000, 0x3000, 0, "/a", ""});
  EXPECT_TRUE(files.unmap(0x2000, 0x1000));
  EXPECT_FALSE(files.unmap(0x2000, 0x1000));
  EXPECT_TRUE(files.unmap(0x2000, 0x1001));
  EXPECT_FALSE(files.unmap(0x8000, 0x1000));
  EXPECT_TRUE(files.unmap(0, UINT64_MAX));
  EXPECT_EQ(files.size(), 0u);
}

TEST(FileRanges, ALookEndsWhatItDoesNotSee) {
  FileRanges files;
  files.map({0x1000, 0x1000, 0, "/a", ""});
  files.map({0x3000, 0x2000, 0, "/b", ""});
  const auto gone = files.keep_only({{0x1000, 0x1000, 0, "/a", ""}, {0x3000, 0x1000, 0, "/b", ""}});
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0], (std::pair<std::uint64_t, std::uint64_t>{0x4000, 0x1000}));
  EXPECT_FALSE(files.unmap(0x4000, 0x1000));
}

}  // namespace
}  // namespace tailor::process
