// What a look at a process tells of where it has code.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/pipeline/input.h"
#include "daemon/session/known_process.h"
#include "proto/base/unique_fd.h"
#include "tests/support/fake_os.h"

namespace tailor::session {
namespace {

std::vector<std::string> code_of(const std::string& maps) {
  test::FakeOs os;
  os.proc_files().write("42/maps", maps);
  std::vector<std::string> out;
  for (const profile::MappingRecord& each : mappings_of(os.proc(), {42, 7}))
    out.push_back(each.path + " " + std::to_string(each.begin >> 12) + " " + std::to_string(each.size >> 12));
  return out;
}
using Code = std::vector<std::string>;

TEST(CodeOfMappings, ItsFilesAndItsMemoryOfNoFile) {
  EXPECT_EQ(code_of("00010000-00011000 r--p 00000000 08:01 5  /nonexistent/engine\n"
                    "00011000-00013000 r-xp 00001000 08:01 5  /nonexistent/engine\n"
                    "00020000-00021000 rw-p 00000000 00:00 0  [heap]\n"
                    "00040000-00042000 r-xp 00000000 00:00 0 \n"
                    "00050000-00051000 r--p 00000000 08:01 6  /nonexistent/library.so\n"
                    "00060000-00061000 rwxp 00000000 00:00 0 \n"
                    "00070000-00071000 r-xp 00000000 00:00 0  [vdso]\n"),
            (Code{"/nonexistent/engine 17 2", std::string(pipeline::kNamelessCode) + " 64 2", "[vdso] 112 1",
                  std::string(pipeline::kNamelessCode) + " 96 1"}));
}

// As the kernel writes it: the end of a line is the only thing that it writes otherwise.
TEST(CodeOfMappings, APathMayHoldTheEndOfALine) {
  EXPECT_EQ(code_of("00010000-00011000 r-xp 00000000 08:01 5  /nonexistent/a\\012b \\134c\\01\n"),
            Code{"/nonexistent/a\nb \\134c\\01 16 1"});
  const std::string name = "/code\nof " + std::to_string(::getpid()), path = testing::TempDir() + name;
  const UniqueFd file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::ftruncate(file.get(), 4096), 0);
  void* const mapped = ::mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, file.get(), 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const auto all = mappings_of("/proc", {::getpid(), 0});
  EXPECT_TRUE(std::ranges::any_of(all, [&](const auto& each) { return each.path.ends_with(name); }));
  ::munmap(mapped, 4096);
  ::unlink(path.c_str());
}

// The twin of what is told above: text that was moved to huge pages is the file's, if it fills a gap of it.
TEST(CodeOfMappings, TextThatWasMovedIsNoGeneratedCode) {
  const std::string moved =
      "00010000-00011000 r--p 00000000 08:01 5  /nonexistent/engine\n"
      "00011000-00013000 r-xp 00000000 00:00 0 \n";
  EXPECT_EQ(code_of(moved + "00013000-00014000 r-xp 00003000 08:01 5  /nonexistent/engine\n"),
            (Code{"/nonexistent/engine 17 2", "/nonexistent/engine 19 1"}));
  const std::string nameless = std::string(pipeline::kNamelessCode) + " 17 2";
  EXPECT_EQ(code_of(moved + "00013000-00014000 r-xp 00004000 08:01 5  /nonexistent/engine\n"),
            (Code{nameless, "/nonexistent/engine 19 1"}))
      << "what is behind it is another place of the file";
  EXPECT_EQ(code_of(moved + "00014000-00015000 r-xp 00004000 08:01 5  /nonexistent/engine\n"),
            (Code{nameless, "/nonexistent/engine 20 1"}))
      << "it does not fill the gap";
  EXPECT_EQ(code_of(moved + "00013000-00014000 r-xp 00003000 08:01 6  /nonexistent/engine\n"),
            (Code{nameless, "/nonexistent/engine 19 1"}))
      << "another file follows";
}

TEST(CodeOfMappings, TextThatWasMovedHasItsPlaceInTheFile) {
  test::FakeOs os;
  os.proc_files().write("42/maps",
                        "00010000-00011000 r--p 00005000 08:01 5  /nonexistent/engine\n"
                        "00011000-00012000 r-xp 00000000 00:00 0 \n"
                        "00012000-00013000 r-xp 00000000 00:00 0 \n"
                        "00013000-00014000 r-xp 00008000 08:01 5  /nonexistent/engine\n");
  const auto all = mappings_of(os.proc(), {42, 7});
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].file_offset, 0x6000u);
  EXPECT_EQ(all[1].file_offset, 0x7000u);
  EXPECT_EQ(all[2].file_offset, 0x8000u);
}

TEST(CodeOfMappings, AProcessThatIsGoneHasNone) {
  EXPECT_TRUE(code_of("").empty());
}

}  // namespace
}  // namespace tailor::session
