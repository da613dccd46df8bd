#include "daemon/profile/mapped_kind.h"

#include <gtest/gtest.h>

namespace tailor::profile {
namespace {

TEST(MappedKind, FollowsTheKernelsNames) {
  EXPECT_EQ(mapped_kind(""), MappedKind::kNothing);
  for (const char* path : {"//anon", "[anon]", "[anon:v8]", "//toolong"})
    EXPECT_EQ(mapped_kind(path), MappedKind::kAnonymous) << path;
  for (const char* path : {"/memfd:jit (deleted)", "/dev/shm/a", "/dev/zero", "/SYSV00000000 (deleted)",
                           "/anon_hugepage (deleted)", "/tmp/a (deleted)", "[heap]", "[too many mappings]"})
    EXPECT_EQ(mapped_kind(path), MappedKind::kMemory) << path;
  for (const char* path : {"/usr/lib/a.so", "[vdso]", "[vsyscall]", "/tmp/memfd:a", "/tmp/a (deleted).so"})
    EXPECT_EQ(mapped_kind(path), MappedKind::kFile) << path;
}

TEST(MappedKind, OnlyFilesAndNothingEndCode) {
  EXPECT_TRUE(ends_code(MappedKind::kFile));
  EXPECT_TRUE(ends_code(MappedKind::kNothing));
  EXPECT_FALSE(ends_code(MappedKind::kAnonymous));
  EXPECT_FALSE(ends_code(MappedKind::kMemory));
  EXPECT_FALSE(ends_code(MappedKind::kUnknown));
}

TEST(MappedKind, MemoryMayHaveThePathOfAFile) {
  for (const char* path : {"/dev/zero (deleted)", "/memfd:vmem (deleted)", "/anon_hugepage (deleted)",
                           "/SYSV00000000 (deleted)"}) {
    EXPECT_TRUE(is_memory_by_path(path)) << path;
    EXPECT_EQ(mapped_kind(path), MappedKind::kMemory) << path;
  }
  for (const char* path : {"", "//anon", "[heap]", "/tmp/a (deleted)", "/dev/shm/a", "/usr/lib/memfd:a.so"})
    EXPECT_FALSE(is_memory_by_path(path)) << path;
}

TEST(MappedKind, FilesAndTheKernelsOwnCodeCanHaveNames) {
  EXPECT_TRUE(can_have_names("/usr/lib/a.so", ""));
  EXPECT_TRUE(can_have_names("[vdso]", "1122"));
  EXPECT_FALSE(can_have_names("[vdso]", "")) << "of which kernel is not known";
  EXPECT_FALSE(can_have_names("[vsyscall]", "1122"));
  EXPECT_FALSE(can_have_names("", ""));
}

}  // namespace
}  // namespace tailor::profile
