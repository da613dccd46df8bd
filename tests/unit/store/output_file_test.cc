// What a user names with -o is treated as every Unix program does it.
#include "daemon/store/output_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "daemon/store/file_writer.h"
#include "daemon/store/output_target.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/errors.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;
using Shown = OutputOptions::Shown;
using testing::HasSubstr;

// The system's own, with some calls that fail.
class SomeFail : public os::Files {
 public:
  int create_code = 0, write_code = 0, rename_code = 0;

  Result<UniqueFd> create(const std::string& path, mode_t mode) override {
    if (create_code != 0) return os_error("create", create_code);
    return os::real_files().create(path, mode);
  }
  Result<std::size_t> write(int fd, std::string_view bytes, std::uint64_t offset) override {
    if (write_code != 0) return os_error("write", write_code);
    return os::real_files().write(fd, bytes, offset);
  }
  Status truncate(int fd, std::uint64_t size) override { return os::real_files().truncate(fd, size); }
  Status sync(int fd) override { return os::real_files().sync(fd); }
  Status sync_directory(const std::string& path) override { return os::real_files().sync_directory(path); }
  Status rename(const std::string& from, const std::string& to) override {
    if (rename_code != 0) return os_error("rename", rename_code);
    return os::real_files().rename(from, to);
  }
  Status remove(const std::string& path) override { return os::real_files().remove(path); }
};

class OutputFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) /
              ("output_file_" + std::string(testing::UnitTest::GetInstance()->current_test_info()->name()));
    fs::remove_all(folder_);
    fs::create_directory(folder_);
    path_ = folder_ / "out";
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string content(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void put(const fs::path& path, std::string_view text) { std::ofstream(path) << text; }
  static mode_t mode_of(const fs::path& path) {
    struct stat info{};
    return ::lstat(path.c_str(), &info) == 0 ? info.st_mode : 0;
  }
  std::ptrdiff_t entries() const { return std::distance(fs::directory_iterator(folder_), {}); }

  fs::path folder_, path_;
};

TEST_F(OutputFile, TakesTheNameOnceItIsComplete) {
  put(path_, "old");
  auto output = open_output(path_);
  ASSERT_TRUE(output) << output.error().message;
  ASSERT_TRUE((*output)->append("new"));
  (*output)->begin();
  EXPECT_EQ(content(path_), "old");
  ASSERT_TRUE((*output)->complete());
  EXPECT_EQ(content(path_), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, WhatIsNeverCompleteTakesNothingAway) {
  SomeFail named;  // where a file cannot be without a name
  for (os::Files* files : {static_cast<os::Files*>(&named), &os::real_files()}) {
    put(path_, "old");
    {
      auto output = open_output(path_, {}, *files);
      ASSERT_TRUE(output);
      ASSERT_TRUE((*output)->append("new"));
    }
    EXPECT_EQ(content(path_), "old");
    EXPECT_EQ(entries(), 1) << "something was left beside it";
  }
}

TEST_F(OutputFile, WithoutUnnamedFilesItDoesTheSame) {
  SomeFail named;
  put(path_, "old");
  auto output = open_output(path_, {}, named);
  ASSERT_TRUE(output);
  ASSERT_TRUE((*output)->append("new"));
  EXPECT_EQ(content(path_), "old");
  ASSERT_TRUE((*output)->complete());
  EXPECT_EQ(content(path_), "new");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, ARecordingCanBeReadFromItsBeginOn) {
  put(path_, "old");
  auto output = open_output(path_, {.shown = Shown::kWhenBegun});
  ASSERT_TRUE(output);
  (*output)->begin();
  EXPECT_EQ(content(path_), "old") << "there is nothing yet";
  ASSERT_TRUE((*output)->append("one"));
  EXPECT_EQ(content(path_), "one");
  ASSERT_TRUE((*output)->append(" two"));
  EXPECT_EQ(content(path_), "one two") << "also if its writer is killed now";
}

TEST_F(OutputFile, ARecordingThatNeverBeginsTakesNothingAway) {
  put(path_, "old");
  {
    auto output = open_output(path_, {.shown = Shown::kWhenBegun, .keep_old = true});
    ASSERT_TRUE(output);
    ASSERT_TRUE((*output)->append("one"));
  }
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, TheLastOneIsKept) {
  put(path_, "old");
  put(folder_ / "out.old", "older");
  auto output = open_output(path_, {.keep_old = true});
  ASSERT_TRUE(output);
  ASSERT_TRUE((*output)->append("new"));
  ASSERT_TRUE((*output)->complete());
  EXPECT_EQ(content(path_), "new");
  EXPECT_EQ(content(folder_ / "out.old"), "old");
}

TEST_F(OutputFile, AnEmptyOneIsNotWorthKeeping) {
  put(path_, "");
  put(folder_ / "out.old", "older");
  auto output = open_output(path_, {.keep_old = true});
  ASSERT_TRUE(output);
  ASSERT_TRUE((*output)->complete());
  EXPECT_EQ(content(folder_ / "out.old"), "older");
}

TEST_F(OutputFile, FollowsLinks) {
  fs::create_directory(folder_ / "elsewhere");
  fs::create_symlink("elsewhere/target", path_);
  for (const char* text : {"first", "second"}) {  // to what is not there yet, and to what is
    ASSERT_TRUE(write_output(path_, text));
    EXPECT_TRUE(fs::is_symlink(path_));
    EXPECT_EQ(content(folder_ / "elsewhere/target"), text);
  }
  fs::create_symlink("loop", folder_ / "loop");
  const Status looped = write_output(folder_ / "loop", "x");
  ASSERT_FALSE(looped);
  EXPECT_EQ(looped.error().code, ELOOP);
}

// As fs.protected_symlinks has it: else a stranger chooses what root overwrites.
TEST_F(OutputFile, LinksOfOthersInSharedDirectoriesAreRefused) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can make links of others";
  put(folder_ / "precious", "old");
  const fs::path shared = folder_ / "shared";
  fs::create_directory(shared);
  fs::create_symlink("../precious", shared / "out");
  ASSERT_EQ(::chmod(shared.c_str(), 01777), 0);
  ASSERT_EQ(::lchown((shared / "out").c_str(), 65534, 65534), 0);
  const Status refused = write_output(shared / "out", "new");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
  EXPECT_EQ(content(folder_ / "precious"), "old");
}

TEST_F(OutputFile, PipesAreWrittenTo) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  std::string got;
  std::thread reader([&] { got = content(path_); });
  auto writer = FileWriter::create(path_);
  ASSERT_TRUE(writer) << writer.error().message;
  test::give_profile(**writer, 10);
  ASSERT_TRUE((*writer)->finish());
  writer->reset();
  reader.join();
  EXPECT_TRUE(S_ISFIFO(mode_of(path_)));
  MemoryInput input(got);
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
  ASSERT_TRUE(read_profile(input, sink, report, loss));
  EXPECT_TRUE(report.clean());
}

TEST_F(OutputFile, AReaderThatHasGoneIsAnError) {
  ASSERT_EQ(::mkfifo(path_.c_str(), 0600), 0);
  UniqueFd reader(::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  auto output = open_output(path_);
  ASSERT_TRUE(output);
  reader.reset();
  const Status written = (*output)->append("x");  // and no signal
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, EPIPE);
}

// Never on /dev itself: a fault would take the host's devices away.
TEST_F(OutputFile, DevicesAreWrittenTo) {
  if (::mknod(path_.c_str(), S_IFCHR | 0600, makedev(1, 3)) != 0)
    GTEST_SKIP() << "no device can be made here";
  const UniqueFd usable(::open(path_.c_str(), O_WRONLY | O_CLOEXEC));
  if (!usable) GTEST_SKIP() << "devices cannot be used here";
  auto writer = FileWriter::create(path_, {.shown = Shown::kWhenBegun, .keep_old = true});
  ASSERT_TRUE(writer);
  (*writer)->begin();
  test::give_profile(**writer, 10);
  ASSERT_TRUE((*writer)->finish());
  EXPECT_TRUE(S_ISCHR(mode_of(path_)));
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, DisksAndDirectoriesAreRefused) {
  const Status directory = write_output(folder_, "x");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, EISDIR);
  EXPECT_FALSE(write_output("", "x"));
  EXPECT_FALSE(write_output(folder_ / "none" / "out", "x"));
  EXPECT_FALSE(write_output(path_.string() + "/", "x"));
  if (::mknod(path_.c_str(), S_IFBLK | 0600, makedev(7, 250)) != 0)
    GTEST_SKIP() << "no device can be made here";
  const Status disk = write_output(path_, "x");
  ASSERT_FALSE(disk);
  EXPECT_THAT(disk.error().message, HasSubstr("it is a disk"));
}

// What was printed before stays, as with every program that writes to standard output.
TEST_F(OutputFile, DescriptorsOfOurOwnAreWrittenToAsTheyAre) {
  const UniqueFd file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  ASSERT_EQ(::write(file.get(), "before ", 7), 7);
  ASSERT_TRUE(write_output("/dev/fd/" + std::to_string(file.get()), "after"));
  EXPECT_EQ(content(path_), "before after");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, KnowsStandardOutputByItsNames) {
  fs::create_symlink("/proc/self/fd/1", path_);
  EXPECT_TRUE(is_standard_output("-"));
  EXPECT_TRUE(is_standard_output("/proc/self/fd/1"));
  EXPECT_TRUE(is_standard_output(path_)) << "as /dev/stdout";
  EXPECT_FALSE(is_standard_output("/proc/self/fd/2"));
  EXPECT_FALSE(is_standard_output(folder_ / "-"));
}

TEST_F(OutputFile, AllowsNobodyMoreThanBefore) {
  ASSERT_TRUE(write_output(path_, "x", 0640));
  EXPECT_EQ(mode_of(path_) & 07, 0U);
  ASSERT_EQ(::chmod(path_.c_str(), 0600), 0);
  ASSERT_TRUE(write_output(path_, "y", 0666));
  EXPECT_EQ(mode_of(path_) & 0777, 0600U);
}

TEST_F(OutputFile, AFullDiskTakesNothingAway) {
  SomeFail full;
  full.write_code = ENOSPC;
  put(path_, "old");
  const Status written = write_output(path_, "new", 0666, full);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, ENOSPC);
  EXPECT_EQ(content(path_), "old");
  EXPECT_EQ(entries(), 1);
}

TEST_F(OutputFile, WhatCannotTakeTheNameIsKeptAndSaid) {
  SomeFail busy;
  busy.rename_code = EBUSY;  // a file that is mounted there
  put(path_, "old");
  const Status written = write_output(path_, "new", 0666, busy);
  ASSERT_FALSE(written);
  EXPECT_EQ(content(path_), "old");
  const std::string& message = written.error().message;
  const std::size_t at = message.rfind(" is in ");
  ASSERT_NE(at, std::string::npos) << message;
  EXPECT_EQ(content(message.substr(at + 7)), "new");
}

TEST_F(OutputFile, WhereNoFileCanBeMadeItIsWrittenInPlace) {
  SomeFail closed;
  closed.create_code = EACCES;
  put(path_, "old and longer");
  {
    auto output = open_output(path_, {}, closed);
    ASSERT_TRUE(output) << output.error().message;
    EXPECT_EQ(content(path_), "old and longer");
    ASSERT_TRUE((*output)->append("new"));
    ASSERT_TRUE((*output)->complete());
  }
  EXPECT_EQ(content(path_), "new");
  EXPECT_FALSE(open_output(folder_ / "none", {}, closed)) << "there is nothing to write to";
}

}  // namespace
}  // namespace tailor::store
