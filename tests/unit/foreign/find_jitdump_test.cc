#include "daemon/foreign/find_jitdump.h"

#include <gtest/gtest.h>

namespace tailor::foreign {
namespace {

constexpr const char* kLibc = "7f0000000000-7f0000001000 r-xp 00000000 08:01 42    /usr/lib/libc.so.6\n";

TEST(FindJitdump, IsTheExecutableMappingOfTheProcessesOwnDump) {
  const auto found = find_jitdumps(
      std::string(kLibc) +
          "7f0000002000-7f0000003000 r--p 00000000 08:01 43    /tmp/jit-77.dump\n"  // only read
          "7f0000003000-7f0000004000 r-xp 00000000 08:01 44    /tmp/jit-78.dump\n"  // the parent's
          "7f0000004000-7f0000005000 r-xp 00000000 08:01 45    /tmp/jit-77.dump.old\n"
          "7f0000005000-7f0000006000 r-xp 00000000 08:01 46    /tmp/xjit-77.dump\n"
          "7f0000006000-7f0000007000 r-xp 00000000 08:01 47    /home/a b/.debug/jit-77.dump\n",
      77);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].range, "7f0000006000-7f0000007000");
  EXPECT_EQ(found[0].path, "/home/a b/.debug/jit-77.dump");
}

TEST(FindJitdump, EachFileCountsOnceAndTheyAreNoMoreThanSome) {
  std::string maps;
  const auto add = [&](int begin, int folder) {
    maps += std::to_string(begin) + "000-" + std::to_string(begin + 1) + "000 r-xp 00000000 08:01 4 /" +
            std::to_string(folder) + "/jit-77.dump\n";
  };
  add(10, 1);
  add(20, 2);
  add(30, 1);
  const auto found = find_jitdumps(maps, 77);
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].range, "10000-11000");
  EXPECT_EQ(found[1].path, "/2/jit-77.dump");
  for (int i = 0; i < 100; ++i) add(40 + i, i);
  EXPECT_EQ(find_jitdumps(maps, 77).size(), kMostDumps + 1);
}

TEST(FindJitdump, NonsenseIsPassedOver) {
  for (const char* text :
       {"", "\n\n", "/jit-77.dump", "a b c d e /jit-77.dump", "1-2 r-xp 0 0 0 x/jit-77.dump",
        "../../x r-xp 00000000 08:01 47 /jit-77.dump", "1-2 r-xp 0 0 0 /jit-77.dump (deleted)"})
    EXPECT_TRUE(find_jitdumps(text, 77).empty()) << text;
}

}  // namespace
}  // namespace tailor::foreign
