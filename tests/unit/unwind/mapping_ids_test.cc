#include "daemon/unwind/mapping_ids.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/fs.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "daemon/capture/decode/mapping_record.h"
#include "daemon/os/elf_build_id.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"
#include "tests/unit/unwind/later_work.h"

namespace tailor::unwind {
namespace {

constexpr std::uint32_t kRing = 3;
constexpr std::uint64_t kInode = 77, kTime = 12345;
const std::string kIdOfMain = "0123456789abcdef0123456789abcdef01234567";

capture::RingLayout layout() {
  capture::RingLayout out;
  out.ring = kRing;
  capture::EventFormat format;
  format.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  out.formats = {format};
  return out;
}

void add_mapping(capture::RingChunk& chunk, const std::string& path, std::uint64_t inode,
                 std::uint32_t protection = PROT_READ | PROT_EXEC) {
  const auto pid = static_cast<std::uint32_t>(::getpid());
  test::RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
  record.u32(pid).u32(pid).u64(0x1000).u64(0x2000).u64(0);
  record.u32(8).u32(1).u64(inode).u64(5);
  record.u32(protection).u32(MAP_PRIVATE).text(path);
  record.u32(pid).u32(pid).u64(kTime).u64(1);
  const std::vector<std::byte> bytes = record.done();
  chunk.bytes.insert(chunk.bytes.end(), bytes.begin(), bytes.end());
}

capture::RingChunk chunk_of(const std::string& path) {
  capture::RingChunk chunk{kRing, {}};
  add_mapping(chunk, path, kInode);
  return chunk;
}

std::optional<capture::MappingBytes> first_of(const capture::RingChunk& chunk) {
  return capture::read_executable_mapping(chunk.bytes);
}

class MappingIdsTest : public testing::Test {
 protected:
  std::string find(const MappedFile& file) {
    asked.push_back(file);
    return file.path == "/bin/main" ? kIdOfMain : "";
  }
  MappingIds::Find finder() {
    return [this](const MappedFile& file) { return find(file); };
  }
  PatienceLimits limits{.of_a_message = 300'000'000, .of_a_user = 300'000'000, .here = 0};

  test::FakeOs os;
  test::LaterWork later;
  Patience patience{os, limits};
  std::vector<MappedFile> asked;
};

TEST_F(MappingIdsTest, ARecordGetsTheIdAsTheKernelWritesIt) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  EXPECT_EQ(first_of(chunk)->build_id, "") << "without this step files of one path are told by their number";
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->build_id, kIdOfMain);
  EXPECT_EQ(first_of(chunk)->path, "/bin/main");
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].inode, kInode);
  EXPECT_EQ(asked[0].generation, 5u);
  EXPECT_EQ(ids.counts().found, 1u);
}

TEST_F(MappingIdsTest, AFileIsReadOnceForAChunk) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  for (int i = 0; i < 100; ++i) add_mapping(chunk, "/bin/main", kInode);
  add_mapping(chunk, "/bin/main", kInode + 1);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(asked.size(), 2u);
  EXPECT_EQ(ids.counts().found, 102u);
}

TEST_F(MappingIdsTest, WhatHasNoFileIsLeftAlone) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk{kRing, {}};
  add_mapping(chunk, "//anon", 0);
  add_mapping(chunk, "[vdso]", 0);
  add_mapping(chunk, "/bin/main", kInode, PROT_READ);
  const std::vector<std::byte> before = chunk.bytes;
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(chunk.bytes, before);
  EXPECT_TRUE(asked.empty());
}

TEST_F(MappingIdsTest, AFileWithoutAnIdKeepsItsNumber) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/other");
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->build_id, "");
  EXPECT_EQ(first_of(chunk)->inode, kInode);
  EXPECT_EQ(ids.counts().none, 1u);
}

TEST_F(MappingIdsTest, ARecordWaitsForItsFile) {
  MappingIds ids(os, later.run(), finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  patience.begin_step(os.time);
  EXPECT_FALSE(ids.take(chunk, &patience));
  later.do_all();
  patience.begin_step(os.time);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->build_id, kIdOfMain);
}

// Its server never answers. What the work refers to stays, whenever it is done.
TEST_F(MappingIdsTest, ItGoesOnWithoutAFileThatIsNotRead) {
  MappingIds ids(os, later.run(), finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  const TimeNs arrived = os.time;
  patience.begin_step(arrived);
  EXPECT_FALSE(ids.take(chunk, &patience));
  os.time += limits.of_a_message;
  patience.begin_step(arrived);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->inode, kInode);
  EXPECT_EQ(ids.counts().unread, 1u);
  later.do_all();
}

TEST_F(MappingIdsTest, NobodyWaitsWhereTheReaderIsFull) {
  MappingIds ids(os, later.run(), finder());
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  ASSERT_TRUE(ids.take(chunk, nullptr));
  EXPECT_EQ(ids.counts().unread, 1u);
}

TEST_F(MappingIdsTest, CutAndHostileRecordsChangeNothing) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  const capture::RingChunk whole = chunk_of("/bin/main");
  for (std::size_t size = 0; size < whole.bytes.size(); ++size) {
    capture::RingChunk chunk{kRing,
                             {whole.bytes.begin(), whole.bytes.begin() + static_cast<std::ptrdiff_t>(size)}};
    const auto cut = static_cast<std::uint16_t>(size);
    if (size >= sizeof(perf_event_header)) std::memcpy(chunk.bytes.data() + 6, &cut, sizeof cut);
    EXPECT_TRUE(ids.take(chunk, &patience));
    EXPECT_EQ(chunk.bytes.size(), size);
  }
  capture::RingChunk unknown = chunk_of("/bin/main");
  unknown.ring = kRing + 1;  // nobody told its layout
  EXPECT_TRUE(ids.take(unknown, &patience));
}

// Files as they are on this host.
class MappedFileIdTest : public testing::Test {
 protected:
  MappedFileIdTest() {
    std::filesystem::create_directories(folder);
    std::filesystem::copy_file("/proc/self/exe", path, std::filesystem::copy_options::overwrite_existing);
    id = os::elf_build_id(path);
    wanted.path = path;
    wanted.places = {{static_cast<std::int32_t>(::getpid()), 0x1000, 0x2000}};
    number();
    wanted.mapped = now() + 1'000'000'000;
  }
  ~MappedFileIdTest() override { std::filesystem::remove_all(folder); }

  void number() {
    struct statx facts{};
    ASSERT_EQ(::statx(AT_FDCWD, path.c_str(), 0, STATX_BASIC_STATS, &facts), 0);
    wanted.device_major = facts.stx_dev_major;
    wanted.device_minor = facts.stx_dev_minor;
    wanted.inode = facts.stx_ino;
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    int generation = 0;
    if (::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
      wanted.generation = static_cast<std::uint32_t>(generation);
    ::close(fd);
  }
  static TimeNs now() {
    timespec time{};
    ::clock_gettime(CLOCK_REALTIME, &time);
    return time.tv_sec * 1'000'000'000 + time.tv_nsec;
  }
  std::string found() { return build_id_of("/proc", wanted); }

  const std::filesystem::path folder = testing::TempDir() + "mapped_file_id_" + std::to_string(::getpid());
  const std::string path = folder / "program";
  std::string id;
  MappedFile wanted;
};

TEST_F(MappedFileIdTest, TheFileIsThere) {
  if (id.empty()) GTEST_SKIP() << "this compiler gives no build ids";
  EXPECT_EQ(found(), id);
  wanted.places[0].pid = INT32_MAX;  // it has ended
  EXPECT_EQ(found(), id);
}

TEST_F(MappedFileIdTest, AnotherFileOfTheNameIsNotTheFile) {
  std::filesystem::copy_file(path, path + ".new");
  std::filesystem::rename(path + ".new", path);
  EXPECT_EQ(found(), "") << "its number is another";
}

TEST_F(MappedFileIdTest, AFileThatWasWrittenSinceIsNotTheFile) {
  wanted.mapped = now() - 3600'000'000'000;
  EXPECT_EQ(found(), "");
}

TEST_F(MappedFileIdTest, ALaterFileOfTheSameNumberIsNotTheFile) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  int generation = 0;
  const bool has_generations = ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
  ::close(fd);
  if (!has_generations) GTEST_SKIP() << "this file system does not tell generations of files";
  ++wanted.generation;
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace tailor::unwind
