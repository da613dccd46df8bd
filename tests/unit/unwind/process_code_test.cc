#include "daemon/unwind/process_code.h"

#include <gtest/gtest.h>

namespace tailor::unwind {
namespace {

TEST(ParseMaps, KeepsExecutableFilesOnly) {
  const auto maps = parse_maps(
      "55d0-55d8 r--p 00000000 fd:01 42                  /usr/bin/engine\n"
      "55d8-55f0 r-xp 00008000 fd:01 42                  /usr/bin/engine of ours (deleted)\n"
      "7f00-7f10 rwxp 00000000 00:00 0 \n"
      "7fff-8000 r-xp 00000000 00:00 0                   [vdso]\n"
      "nonsense\n"
      "9000-8000 r-xp 00000000 fd:01 43 /backward\n"
      "a000-b000 r-xp zzzz fd:01 43 /offset\n");
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].begin, 0x55d8u);
  EXPECT_EQ(maps[0].end, 0x55f0u);
  EXPECT_EQ(maps[0].file_offset, 0x8000u);
  EXPECT_EQ(maps[0].file, "fd:01:42");
  EXPECT_EQ(maps[0].path, "/usr/bin/engine of ours (deleted)");
}

TEST(ProcessCode, GeneratedCodeIsReplacedByWhatComesThere) {
  FileTables files;
  ProcessCode code("/nonexistent", 1, files);
  code.add_code({1, 0x1000, 0x2000}, {}, 0);
  code.add_code({2, 0x3000, 0x4000}, {}, 0);
  EXPECT_TRUE(code.is_generated(0x1fff));
  EXPECT_FALSE(code.is_generated(0x2000));
  code.remove_code(1);
  EXPECT_TRUE(code.is_generated(0x1800)) << "samples may still be on their way";
  code.add_code({3, 0x1800, 0x3800}, {}, 0);
  EXPECT_FALSE(code.is_generated(0x1000));
  EXPECT_TRUE(code.is_generated(0x3000));
  EXPECT_FALSE(code.is_generated(0x3900));
}

// Registered code without a plan has its table looked at, and does not end the walk.
TEST(ProcessCode, CodeWithoutAPlanIsNotWhatDecides) {
  FileTables files;
  ProcessCode code("/nonexistent", 1, files);
  code.add_code({1, 0x1000, 0x2000, false}, {}, 0);
  EXPECT_FALSE(code.is_generated(0x1800));
  code.add_code({2, 0x1000, 0x2000, true}, {}, 0);
  EXPECT_TRUE(code.is_generated(0x1800));
}

TEST(ReadElfCfi, WhatIsNoElfFileIsRefused) {
  EXPECT_FALSE(read_elf_cfi("/dev/null").ok());
  EXPECT_FALSE(read_elf_cfi("/proc/self/maps").ok());
  EXPECT_FALSE(read_elf_cfi("/nonexistent").ok());
  auto own = read_elf_cfi("/proc/self/exe");
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_GT(own->table.entries(), 10u);
  EXPECT_EQ(own->table.refused(), 0u);
}

}  // namespace
}  // namespace tailor::unwind
