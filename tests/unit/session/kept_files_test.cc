// Files that are mapped are held: by the records of the kernel, and by what a process had mapped before.
#include "daemon/session/kept_files.h"

#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/os/content_id.h"
#include "proto/base/file_id.h"
#include "tests/support/record_encoder.h"

namespace tailor::session {
namespace {

namespace fs = std::filesystem;
using Is = query::KeptFile::Is;

class KeptFilesTest : public testing::Test {
 protected:
  KeptFilesTest() { fs::create_directories(folder_); }
  ~KeptFilesTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& content) const {
    std::ofstream(path(name)) << content;
    return path(name);
  }
  // As the kernel tells that this process has mapped it.
  static capture::RingChunk mapped(const std::string& path, std::uint32_t protection = PROT_EXEC,
                                   std::int32_t pid = ::getpid()) {
    return mapped_as(path, path, protection, pid);
  }
  // `file` by another path.
  static capture::RingChunk mapped_as(const std::string& file, const std::string& path,
                                      std::uint32_t protection, std::int32_t pid) {
    struct stat facts{};
    EXPECT_EQ(::stat(file.c_str(), &facts), 0);
    return {0, test::RecordBytes(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER)
                   .u32(static_cast<std::uint32_t>(pid))
                   .u32(static_cast<std::uint32_t>(pid))
                   .u64(0x7000'0000'0000)
                   .u64(0x1000)
                   .u64(0)
                   .u32(::gnu_dev_major(facts.st_dev))
                   .u32(::gnu_dev_minor(facts.st_dev))
                   .u64(facts.st_ino)
                   .u64(0)
                   .u32(protection)
                   .u32(0)
                   .text(path)
                   .done()};
  }
  // Of a file that nothing leads to. On an overlay numbers tell nothing, so its path may be tried.
  Is nowhere() const {
    struct statfs facts{};
    EXPECT_EQ(::statfs(folder_.c_str(), &facts), 0);
    return facts.f_type == OVERLAYFS_SUPER_MAGIC ? Is::kNotKept : Is::kLost;
  }
  static std::string content(const query::KeptFile& kept) {
    std::ifstream file(kept.path);
    return {std::istreambuf_iterator<char>(file), {}};
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("kept_files_" + std::to_string(::getpid()));
  KeptFiles files_{"/proc", std::chrono::seconds(60)};
};

TEST_F(KeptFilesTest, AFileIsFoundWhenItWasReplaced) {
  const std::string name = write("program", "the one that ran");
  files_.chunk(mapped(name));
  ASSERT_EQ(files_.find(name, "").is, Is::kKept);
  fs::remove(name);
  write("program", "another");
  EXPECT_EQ(content(files_.find(name, "")), "the one that ran");
  EXPECT_EQ(files_.find(path("nobody"), "").is, Is::kNotKept);
}

TEST_F(KeptFilesTest, WithoutABuildIdTwoFilesOfOnePathAreNotTakenForOne) {
  const std::string name = write("program", "first");
  files_.chunk(mapped(name));
  ASSERT_EQ(files_.find(name, "").is, Is::kKept);
  fs::rename(name, path("old"));  // or its number could be used again
  write("program", "second");
  files_.chunk(mapped(name));
  EXPECT_EQ(files_.find(name, "").is, Is::kLost);
}

// Nothing says what the file was that was mapped. Another name or mode does not change what it is.
TEST_F(KeptFilesTest, WithoutAnIdAFileThatWasWrittenSinceIsLost) {
  const std::string name = write("program", "first");
  files_.chunk(mapped(name));
  ASSERT_EQ(files_.find(name, "").is, Is::kKept);
  ASSERT_EQ(::chmod(name.c_str(), 0500), 0);
  fs::create_hard_link(name, path("link"));
  EXPECT_EQ(files_.find(name, "").is, Is::kKept);
  ASSERT_EQ(::chmod(name.c_str(), 0600), 0);
  write("program", "another one");
  EXPECT_EQ(files_.find(name, "").is, Is::kLost);
}

TEST_F(KeptFilesTest, AFileIsHeldByItsContent) {
  const std::string name = path("program");
  fs::copy_file("/proc/self/exe", name);
  const std::string id = os::content_id(fs::path(name));
  ASSERT_FALSE(id.empty());
  const auto with = [&](const std::string& of_content) {
    capture::RingChunk out = mapped(name);
    out.bytes[5] = std::byte{PERF_RECORD_MISC_MMAP_BUILD_ID >> 8};
    std::ranges::copy(capture::kContentMark, out.bytes.begin() + 40);
    for (std::size_t i = 0; i < 20; ++i) {
      const std::string digits = of_content.substr(kContentId.size() + 2 * i, 2);
      out.bytes[44 + i] = static_cast<std::byte>(std::stoi(digits, nullptr, 16));
    }
    return out;
  };
  std::string other = id;
  other.back() = other.back() == '0' ? '1' : '0';
  files_.chunk(with(id));
  files_.chunk(with(other));
  EXPECT_EQ(files_.find(name, id).is, Is::kKept);
  EXPECT_EQ(files_.find(name, other).is, Is::kNotKept) << "another file of that path";
}

TEST_F(KeptFilesTest, AnotherFileOfThatPathIsNotHeld) {
  const std::string name = write("program", "the one that ran");
  const capture::RingChunk told = mapped(name, PROT_EXEC, 1 << 30);  // by a process that has ended
  fs::rename(name, path("old"));
  write("program", "another");
  files_.chunk(told);
  EXPECT_EQ(files_.find(name, "").is, nowhere()) << "and whoever asks must not take it either";
}

TEST_F(KeptFilesTest, DataIsNotHeldAndNothingHangsOnAPipe) {
  const std::string data = write("data", "x");
  files_.chunk(mapped(data, PROT_READ));
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  files_.chunk(mapped(path("pipe")));
  EXPECT_EQ(files_.find(data, "").is, Is::kNotKept);
  EXPECT_EQ(files_.find(path("pipe"), "").is, nowhere());
}

TEST_F(KeptFilesTest, BytesThatMakeNoSenseAreLeftOut) {
  const std::string name = write("program", "x");
  for (std::size_t size = 0; size < 96; ++size) {
    capture::RingChunk cut = mapped(name);
    cut.bytes.resize(size);
    if (size >= 8) {
      const auto told = static_cast<std::uint16_t>(size);
      std::memcpy(cut.bytes.data() + 6, &told, sizeof told);
    }
    files_.chunk(cut);
  }
  capture::RingChunk endless = mapped(name);
  endless.bytes[6] = endless.bytes[7] = std::byte{0};
  files_.chunk(endless);
  EXPECT_EQ(files_.find(name, "").is, Is::kNotKept);
}

// More files than are held, of one user.
TEST_F(KeptFilesTest, ThoseOfLongAgoGoWhereNewOnesTakeTheirPlace) {
  KeptFiles replacing("/proc", std::chrono::seconds(60), KeptFiles::Full::kReplace);
  constexpr int kFiles = 300;
  std::string first, last;
  for (int i = 0; i < kFiles; ++i) {
    last = write("file" + std::to_string(i), std::to_string(i));
    if (i == 0) first = last;
    for (KeptFiles* files : {&files_, &replacing}) files->chunk(mapped(last));
    (void)replacing.find(last, "");
    (void)files_.find(last, "");
  }
  EXPECT_EQ(files_.find(first, "").is, Is::kKept);
  EXPECT_EQ(files_.find(last, "").is, Is::kNotKept) << "the twin refuses it";
  EXPECT_EQ(replacing.find(first, "").is, Is::kNotKept);
  const query::KeptFile found = replacing.find(last, "");
  ASSERT_EQ(found.is, Is::kKept);
  for (int i = 0; i < kFiles; ++i) {
    replacing.chunk(mapped(write("more" + std::to_string(i), "x")));
    (void)replacing.find(last, "");
  }
  ASSERT_EQ(replacing.find(last, "").is, Is::kNotKept);
  EXPECT_EQ(content(found), std::to_string(kFiles - 1)) << "who reads it has it until he is done";
}

// Its debug file lies there too, and is looked for after the process has ended.
TEST_F(KeptFilesTest, TheRootOfAProcessInAContainerIsHeldToo) {
  const fs::path proc = folder_ / "proc", root = folder_ / "container";
  const std::string there = path("proc/77");
  fs::create_directories(there);
  fs::create_directories(root / "bin");
  fs::create_directory_symlink(root, there + "/root");
  const std::string file = write("container/bin/program", "the one that ran");
  write("container/bin/program.debug", "its symbols");
  KeptFiles files(proc, std::chrono::seconds(60));
  files.chunk(mapped_as(file, "/bin/program", PROT_EXEC, 77));
  query::KeptFile kept = files.find("/bin/program", "");
  ASSERT_EQ(kept.is, Is::kKept);
  EXPECT_EQ(kept.within_as, "/bin/program");
  fs::remove_all(proc);
  std::ifstream beside(kept.within + kept.within_as + ".debug");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(beside), {}), "its symbols");
  files_.chunk(mapped(write("program", "ours")));
  kept = files_.find(path("program"), "");
  ASSERT_EQ(kept.is, Is::kKept);
  EXPECT_EQ(kept.within, "") << "this process has our root";
}

// This program itself, whose build id is not told.
TEST_F(KeptFilesTest, WhatAProcessHadMappedIsHeld) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  pipeline::KnownProcess process;
  process.process = {::getpid(), 0};
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(self) || line.find("r-xp") == std::string::npos) continue;
    profile::MappingRecord mapping{process.process, kTimeMin, std::stoull(line, nullptr, 16), 0, 0, self};
    mapping.size = std::stoull(line.substr(line.find('-') + 1), nullptr, 16) - mapping.begin;
    process.mappings.push_back(mapping);
  }
  ASSERT_FALSE(process.mappings.empty());
  files_.known(process);
  const query::KeptFile found = files_.find(self, "");
  std::ostringstream direct;
  direct << "/proc/self/map_files/" << std::hex << process.mappings[0].begin << '-'
         << process.mappings[0].begin + process.mappings[0].size;
  if (!std::ifstream(direct.str()))
    GTEST_SKIP() << "reaching a file through its mapping needs a right (CAP_CHECKPOINT_RESTORE)";
  ASSERT_EQ(found.is, Is::kKept);
  EXPECT_EQ(content(found).substr(0, 4), "\177ELF");
  // Another file by that path: the number of the first was not told, and is known all the same.
  files_.chunk(mapped_as(write("other", "x"), self, PROT_EXEC, ::getpid()));
  EXPECT_EQ(files_.find(self, "").is, Is::kLost);
}

}  // namespace
}  // namespace tailor::session
