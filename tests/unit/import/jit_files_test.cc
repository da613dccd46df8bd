// Whose files are believed, and that no link is followed.
#include "daemon/import/jit_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace tailor::importer {
namespace {

class JitFilesTest : public testing::Test {
 protected:
  JitFilesTest() : folder(testing::TempDir() + "/jit_files_" + std::to_string(::getpid()) + "/") {
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "perf-1.map") << "1000 10 f\n";
  }
  ~JitFilesTest() override { std::filesystem::remove_all(folder); }
  std::string folder;
};

TEST_F(JitFilesTest, AFileOfSomebodyElseIsNotBelieved) {
  struct stat info{};
  ASSERT_EQ(::stat((folder + "perf-1.map").c_str(), &info), 0);
  const Owners mine{info.st_uid}, others{info.st_uid + 1};
  auto file = open_jit_file(folder + "perf-1.map", &mine);
  ASSERT_TRUE(file.ok()) << file.error().message;
  EXPECT_EQ(file->size, 10u);
  std::string text(10, ' ');
  EXPECT_EQ(file->read_at(0, text), 10u);
  EXPECT_EQ(text, "1000 10 f\n");
  auto refused = open_jit_file(folder + "perf-1.map", &others);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("belongs to user"), std::string::npos);
  EXPECT_TRUE(open_jit_file(folder + "perf-1.map", nullptr).ok()) << "somebody named the file";
}

TEST_F(JitFilesTest, NeitherALinkNorWhatIsNoFileIsRead) {
  std::filesystem::create_symlink(folder + "perf-1.map", folder + "link");
  ASSERT_EQ(::mkfifo((folder + "fifo").c_str(), 0600), 0);
  for (const char* name : {"link", "fifo", ".", "/dev/zero"}) {
    auto file = open_jit_file(name[0] == '/' ? name : folder + name, nullptr);
    ASSERT_FALSE(file.ok()) << name;
    EXPECT_NE(file.error().kind, ErrorKind::kNotFound) << name;
  }
  auto gone = open_jit_file(folder + "none", nullptr);
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().kind, ErrorKind::kNotFound);
}

TEST_F(JitFilesTest, AProcessThatBeganLaterIsAnotherOne) {
  EXPECT_EQ(owner_of_running(::getpid(), INT64_MAX, INT64_MAX), ::geteuid());
  EXPECT_EQ(owner_of_running(::getpid(), 1, INT64_MAX), std::nullopt);
  EXPECT_EQ(owner_of_running(::getpid(), INT64_MAX, 1), std::nullopt);
  EXPECT_EQ(owner_of_running(-1, INT64_MAX, INT64_MAX), std::nullopt);
}

}  // namespace
}  // namespace tailor::importer
