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
#include "daemon/os/content_id.h"
#include "daemon/os/elf_build_id.h"
#include "daemon/os/vdso.h"
#include "tests/support/fake_os.h"
#include "tests/support/record_encoder.h"
#include "tests/unit/unwind/later_work.h"

namespace tailor::unwind {
namespace {

constexpr std::uint32_t kRing = 3;
constexpr std::uint64_t kInode = 77, kTime = 12345;
const std::string kIdOfMain = "0123456789abcdef0123456789abcdef01234567";
const std::string kContentOfOther = "content:89abcdef0123456789abcdef0123456789abcdef";

capture::RingLayout layout() {
  capture::RingLayout out;
  out.ring = kRing;
  capture::EventFormat format;
  format.sample_type = PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU;
  out.formats = {format};
  return out;
}

void add_mapping(capture::RingChunk& chunk, const std::string& path, std::uint64_t inode,
                 std::uint32_t protection = PROT_READ | PROT_EXEC,
                 std::uint32_t pid = static_cast<std::uint32_t>(::getpid()), std::uint64_t begin = 0x1000,
                 std::uint64_t size = 0x2000) {
  test::RecordBytes record(PERF_RECORD_MMAP2, PERF_RECORD_MISC_USER);
  record.u32(pid).u32(pid).u64(begin).u64(size).u64(0);
  record.u32(8).u32(1).u64(inode).u64(5);
  record.u32(protection).u32(MAP_PRIVATE).text(path);
  record.u32(pid).u32(pid).u64(kTime).u64(1);
  const std::vector<std::byte> bytes = record.done();
  chunk.bytes.insert(chunk.bytes.end(), bytes.begin(), bytes.end());
}

void add_fork(capture::RingChunk& chunk, std::uint32_t child, std::uint32_t parent) {
  test::RecordBytes record(PERF_RECORD_FORK, PERF_RECORD_MISC_USER);
  record.u32(child).u32(parent).u32(child).u32(parent).u64(kTime);
  record.u32(parent).u32(parent).u64(kTime).u64(1);
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
  add_mapping(chunk, "[vsyscall]", 0);
  add_mapping(chunk, "/bin/main", kInode, PROT_READ);
  const std::vector<std::byte> before = chunk.bytes;
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(chunk.bytes, before);
  EXPECT_TRUE(asked.empty());
}

// The kernel's own code in a process of 64 bits is the same as in ours: nobody's memory is read.
TEST_F(MappingIdsTest, TheVdsoHasTheIdOfOurs) {
  const os::Vdso& own = os::own_vdso();
  if (own.build_id.empty()) GTEST_SKIP() << "this kernel gives no vDSO, or one without a build id";
  const auto told = [this](std::uint64_t begin, std::uint64_t size) {
    MappingIds ids(os, {}, finder());
    ids.ring(layout());
    capture::RingChunk chunk{kRing, {}};
    add_mapping(chunk, "[vdso]", 0, PROT_READ | PROT_EXEC, 1, begin, size);
    EXPECT_TRUE(ids.take(chunk, &patience));
    return first_of(chunk)->build_id;
  };
  EXPECT_EQ(told(0x7ffd'0000'0000, own.image.size()), own.build_id);
  EXPECT_EQ(told(0x7ffd'0000'0000, own.image.size() + 4096), "") << "ours has another size";
  EXPECT_TRUE(asked.empty());
  EXPECT_EQ(told(0x1000, own.image.size()), "") << "a process of 32 bits has another one";
  ASSERT_EQ(asked.size(), 1u) << "its memory says which";
  EXPECT_EQ(asked[0].path, "[vdso]");
  ASSERT_EQ(asked[0].places.size(), 1u);
  EXPECT_EQ(asked[0].places[0].pid, 1);
  EXPECT_EQ(asked[0].places[0].begin, 0x1000u);
}

TEST_F(MappingIdsTest, TheMemoryOfEachProcessIsReadForIt) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk{kRing, {}};
  for (const std::uint32_t pid : {1u, 2u}) add_mapping(chunk, "[vdso]", 0, PROT_READ | PROT_EXEC, pid);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(asked.size(), 2u);
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

// A hash of a large file takes long: it is asked for behind all build ids, and once for a file.
TEST_F(MappingIdsTest, AFileWithoutABuildIdIsToldByItsContent) {
  std::vector<std::string> hashed;
  MappingIds ids(os, later.run(), finder(), [&](const MappedFile& file) {
    hashed.push_back(file.path);
    return kContentOfOther;
  });
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/other");
  add_mapping(chunk, "/bin/main", kInode);
  add_mapping(chunk, "/bin/other", kInode);
  patience.begin_step(os.time);
  EXPECT_FALSE(ids.take(chunk, &patience));
  later.do_all();
  patience.begin_step(os.time);
  EXPECT_FALSE(ids.take(chunk, &patience)) << "now it waits for the hash";
  EXPECT_TRUE(hashed.empty());
  later.do_all();
  patience.begin_step(os.time);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(hashed, std::vector<std::string>{"/bin/other"});
  EXPECT_EQ(first_of(chunk)->build_id, kContentOfOther);
  EXPECT_EQ(first_of(chunk)->path, "/bin/other");
  EXPECT_EQ(ids.counts().found, 3u);
}

TEST_F(MappingIdsTest, BuildIdsDoNotWaitForAHashThatIsNotMade) {
  MappingIds ids(os, later.run(), finder(), [](const MappedFile&) { return kContentOfOther; });
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/main");
  add_mapping(chunk, "/bin/other", kInode);
  const TimeNs arrived = os.time;
  patience.begin_step(arrived);
  EXPECT_FALSE(ids.take(chunk, &patience));
  later.do_all();
  patience.begin_step(arrived);
  EXPECT_FALSE(ids.take(chunk, &patience));
  os.time += limits.of_a_message;
  patience.begin_step(arrived);
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->build_id, kIdOfMain);
  EXPECT_EQ(ids.counts().found, 1u);
  EXPECT_EQ(ids.counts().unread, 1u);
  later.do_all();
}

TEST_F(MappingIdsTest, AContentIdOfAnotherSizeIsNone) {
  MappingIds ids(os, {}, finder(), [](const MappedFile&) { return std::string("content:12"); });
  ids.ring(layout());
  capture::RingChunk chunk = chunk_of("/bin/other");
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(first_of(chunk)->build_id, "");
  EXPECT_EQ(first_of(chunk)->inode, kInode);
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

TEST_F(MappingIdsTest, OneFileMoreThanAUserMayAskForIsCounted) {
  constexpr std::uint64_t kMost = 4096;
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk{kRing, {}};
  for (std::uint64_t i = 1; i <= kMost + 1; ++i) add_mapping(chunk, "/bin/main", i);
  add_mapping(chunk, "/bin/main", 1);  // is known
  ASSERT_TRUE(ids.take(chunk, &patience));
  EXPECT_EQ(ids.counts().found, kMost + 1);
  EXPECT_EQ(ids.counts().unread, 1u);
}

// What has ended has no root any more; that of a living ancestor shows the same files.
TEST_F(MappingIdsTest, AncestorsAreToldWithAFile) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk chunk{kRing, {}};
  add_fork(chunk, 1002, 1001);
  add_fork(chunk, 1003, 1002);
  add_fork(chunk, 1003, 1003);  // a thread
  add_mapping(chunk, "/bin/main", kInode, PROT_EXEC, 1003);
  ASSERT_TRUE(ids.take(chunk, &patience));
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].ancestors, (std::vector<std::int32_t>{1002, 1001}));
}

TEST_F(MappingIdsTest, WhereTheBeginIsNotToldYetOthersOfTheFileSayTheirAncestors) {
  MappingIds ids(os, {}, finder());
  ids.ring(layout());
  capture::RingChunk first{kRing, {}};
  add_fork(first, 1002, 1001);
  add_mapping(first, "/bin/main", kInode, PROT_EXEC, 1002);
  ASSERT_TRUE(ids.take(first, &patience));
  capture::RingChunk second{kRing, {}};
  add_mapping(second, "/bin/main", kInode, PROT_EXEC, 1009);
  add_mapping(second, "/bin/main", kInode + 1, PROT_EXEC, 1009);
  ASSERT_TRUE(ids.take(second, &patience));
  ASSERT_EQ(asked.size(), 3u);
  EXPECT_EQ(asked[1].ancestors, std::vector<std::int32_t>{1001});
  EXPECT_TRUE(asked[2].ancestors.empty()) << "of another file";
}

// What is said of a file decides whether it is the one that was mapped at the time 100.
class IsMappedFileTest : public testing::Test {
 protected:
  IsMappedFileTest() {
    file.device_major = 8;
    file.inode = 77;
    file.generation = 5;
    file.mapped = 100;
    facts.device_major = 8;
    facts.inode = 77;
    facts.written = facts.changed = 50;
  }
  // By the mapping, by its path where it is mapped still, by a path alone.
  std::string accepted() const {
    std::string out;
    for (const FoundBy by : {FoundBy::kMapping, FoundBy::kPathOfMapping, FoundBy::kPath})
      out += is_mapped_file(facts, file, by) ? "+" : "-";
    return out;
  }

  MappedFile file;
  FileFacts facts;
};

TEST_F(IsMappedFileTest, OneOfTheSameNumberAndGeneration) {
  facts.generation = 5;
  facts.changed = 150;  // a second link of it
  EXPECT_EQ(accepted(), "+++");
  facts.generation = 6;
  EXPECT_EQ(accepted(), "---") << "the number was another's";
  facts.generation = 5;
  facts.written = 101;
  EXPECT_EQ(accepted(), "---") << "its content is another";
}

TEST_F(IsMappedFileTest, WithoutGenerationsItWasThereBefore) {
  facts.changed = 150;
  EXPECT_EQ(accepted(), "---");
  facts.born = 40;
  EXPECT_EQ(accepted(), "+++");
  facts.born = 120;
  EXPECT_EQ(accepted(), "---");
}

TEST_F(IsMappedFileTest, OneOfAnotherNumberOnlyByItsMapping) {
  facts.inode = 78;
  EXPECT_EQ(accepted(), "+--");
  facts.changed = 150;
  EXPECT_EQ(accepted(), "---");
}

// A path alone may lead to another container's file.
TEST_F(IsMappedFileTest, AnOverlayHasDevicesOfItsOwn) {
  facts.in = FileFacts::In::kOverlay;
  facts.device_major = 0;
  EXPECT_EQ(accepted(), "+++");
  facts.inode = 78;  // of the file below, of which this is a copy
  EXPECT_EQ(accepted(), "++-");
  facts.changed = 150;
  EXPECT_EQ(accepted(), "---");
}

TEST_F(IsMappedFileTest, SubvolumesOfBtrfsHaveDevicesOfTheirOwn) {
  facts.in = FileFacts::In::kBtrfs;
  facts.device_major = 0;
  facts.generation = 5;
  EXPECT_EQ(accepted(), "+++");
  facts.generation = 6;
  EXPECT_EQ(accepted(), "---");
  facts.generation = 5;
  facts.in = FileFacts::In::kOther;
  EXPECT_EQ(accepted(), "+--") << "two file systems may use one number";
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

  void number() { number(path); }
  void number(const std::string& of) {
    struct statx facts{};
    ASSERT_EQ(::statx(AT_FDCWD, of.c_str(), 0, STATX_BASIC_STATS, &facts), 0);
    wanted.device_major = facts.stx_dev_major;
    wanted.device_minor = facts.stx_dev_minor;
    wanted.inode = facts.stx_ino;
    const int fd = ::open(of.c_str(), O_RDONLY | O_CLOEXEC);
    std::uint64_t generation = 0;
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

// Of a container whose process has ended: its parent's root shows the file, ours does not.
TEST_F(MappedFileIdTest, TheFileIsThereForAnAncestor) {
  if (id.empty()) GTEST_SKIP() << "this compiler gives no build ids";
  const std::filesystem::path proc = folder / "proc", inside = folder / "root";
  std::filesystem::create_directories(proc / "40");
  std::filesystem::create_directories(inside / "only_inside");
  std::filesystem::create_directory_symlink(inside, proc / "40" / "root");
  std::filesystem::copy_file(path, inside / "only_inside" / "program");
  wanted.path = "/only_inside/program";
  wanted.places = {{41, 0x1000, 0x2000}};
  number(inside / "only_inside" / "program");
  EXPECT_EQ(build_id_of(proc, wanted), "");
  wanted.ancestors = {41, 40};
  EXPECT_EQ(build_id_of(proc, wanted), id);
  ++wanted.inode;
  EXPECT_EQ(build_id_of(proc, wanted), "") << "the parent sees another file there";
}

TEST_F(MappedFileIdTest, ItsContentIsToldOfTheFileAlone) {
  const std::string content = os::content_id(std::filesystem::path(path));
  ASSERT_NE(content, "");
  EXPECT_EQ(content_id_of("/proc", wanted), content);
  std::filesystem::copy_file(path, path + ".new");
  std::filesystem::rename(path + ".new", path);
  EXPECT_EQ(content_id_of("/proc", wanted), "") << "its number is another";
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
  std::uint64_t generation = 0;
  const bool has_generations = ::ioctl(fd, FS_IOC_GETVERSION, &generation) == 0;
  ::close(fd);
  if (!has_generations) GTEST_SKIP() << "this file system does not tell generations of files";
  ++wanted.generation;
  EXPECT_EQ(found(), "");
}

}  // namespace
}  // namespace tailor::unwind
