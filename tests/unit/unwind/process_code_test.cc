#include "daemon/unwind/process_code.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/os/elf_build_id.h"
#include "tests/unit/unwind/later_work.h"
#include "tests/unit/unwind/small_table.h"

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

TEST(ParseMaps, APathMayHoldTheEndOfALine) {
  const auto maps = parse_maps("1000-2000 r-xp 00000000 fd:01 42 /a\\012b\n");
  ASSERT_EQ(maps.size(), 1u);
  EXPECT_EQ(maps[0].path, "/a\nb");
}

// Text that was moved to huge pages: the file is still mapped right before and right behind it.
TEST(ParseMaps, MemoryOfNoFileAmidAFileIsTheFiles) {
  const auto maps = parse_maps(
      "400000-401000 r--p 00000000 fd:01 42 /usr/bin/engine\n"
      "401000-402000 r-xp 00001000 fd:01 42 /usr/bin/engine\n"
      "402000-404000 r-xp 00000000 00:00 0 \n"
      "404000-405000 r--p 00004000 fd:01 42 /usr/bin/engine\n"
      "405000-406000 r-xp 00000000 00:00 0 \n"
      "406000-407000 r--p 00007000 fd:01 42 /usr/bin/engine\n"
      "500000-501000 r-xp 00000000 fd:01 43 /usr/lib/a.so\n"
      "501000-502000 r-xp 00000000 00:00 0 \n"
      "502000-503000 r-xp 00002000 fd:01 44 /usr/lib/b.so\n"
      "504000-505000 r-xp 00000000 00:00 0 \n");
  std::vector<std::pair<std::uint64_t, std::uint64_t>> got;
  for (const Mapping& each : maps) got.emplace_back(each.begin, each.file_offset);
  EXPECT_EQ(got, (std::vector<std::pair<std::uint64_t, std::uint64_t>>{
                     {0x401000, 0x1000}, {0x402000, 0x2000}, {0x500000, 0}, {0x502000, 0x2000}}));
  EXPECT_EQ(maps[1].path, "/usr/bin/engine");
  EXPECT_EQ(maps[1].file, "fd:01:42");
}

// This program as a child that has ended before anybody looked had it mapped.
TEST(ProcessCode, RecordsTellOfProcessesThatAreGone) {
  struct stat info{};
  char path[4096] = {};
  ASSERT_GT(::readlink("/proc/self/exe", path, sizeof path - 1), 0);
  ASSERT_EQ(::stat(path, &info), 0);
  Mapping own;
  own.file = file_of(::gnu_dev_major(info.st_dev), ::gnu_dev_minor(info.st_dev), info.st_ino);
  own.path = path;
  const auto elf = read_elf_cfi(path);
  ASSERT_TRUE(elf.ok());
  const auto text = std::ranges::find_if(elf->segments, [](const auto& each) { return each.executable; });
  ASSERT_NE(text, elf->segments.end());
  constexpr std::uint64_t kBegin = 0x7f0000000000;
  own.begin = kBegin;
  own.end = kBegin + text->size;
  own.file_offset = text->offset & ~std::uint64_t{4095};
  const std::vector<std::byte> bytes(64, std::byte{0x11});
  const auto frame_at = [](std::uint64_t address) {
    Frame frame;
    frame.set(kReturnAddress, address);
    frame.set(kSp, 0x7000);
    frame.set(kBp, 0x7000);
    return frame;
  };
  bool signal = false;
  CfiWork work;
  const auto ranges = elf->table.ranges();
  const auto with_caller = std::ranges::find_if(ranges, [&](const auto& each) {  // _start has none
    Frame frame = frame_at(each.begin);
    return elf->table.step(frame, 0, true, {0x7000, bytes}, signal, work);
  });
  ASSERT_NE(with_caller, ranges.end());
  const std::uint64_t function = with_caller->begin;
  const std::uint64_t address = kBegin + (function - text->address) + (text->offset - own.file_offset);

  FileTables files;
  ProcessCode gone("/nonexistent", 1, files);
  const auto steps = [&](ProcessCode& code) {
    Frame frame = frame_at(address);
    return code.step(frame, true, {0x7000, bytes}, signal, 0);
  };
  EXPECT_FALSE(steps(gone));
  Mapping other = own;
  other.file = "00:00:1";  // our file of that name is another one
  gone.map(other);
  EXPECT_FALSE(steps(gone));
  gone.map(own);
  EXPECT_TRUE(steps(gone)) << "one file after the other at one address";
  ProcessCode child("/nonexistent", 2, files);
  child.inherit_files(gone);
  EXPECT_TRUE(steps(child));
  gone.map_anonymous(address & ~std::uint64_t{4095}, (address & ~std::uint64_t{4095}) + 4096);
  EXPECT_FALSE(steps(gone));
  child.forget_files();
  EXPECT_FALSE(steps(child));

  own.file = file_with(os::elf_build_id(path));
  child.map(own);
  EXPECT_TRUE(steps(child)) << "kernels that know build ids tell these instead";
  ProcessCode changed("/nonexistent", 3, files);
  own.file = file_with("0123456789abcdef");  // the file was replaced since
  changed.map(own);
  EXPECT_FALSE(steps(changed));
}

// A process that maps without end has room for a part, and what is known stays right.
TEST(MappedFiles, AreBoundedAndSharedUntilTheyChange) {
  MappedFiles::Budget budget{.left = 10'000};
  const auto page = [](std::uint64_t number, const std::string& file) {
    Mapping out;
    out.begin = number << 12;
    out.end = out.begin + 0x1000;
    out.file = file;
    return out;
  };
  MappedFiles parent(budget);
  for (std::uint64_t i = 1; i <= 2 * MappedFiles::kMostOfAProcess; ++i) parent.map(page(i, "a"));
  EXPECT_EQ(budget.left, 10'000 - MappedFiles::kMostOfAProcess);
  EXPECT_EQ(parent.at(2 * MappedFiles::kMostOfAProcess << 12), nullptr);
  {
    MappedFiles first(budget), second(budget), third(budget);
    for (MappedFiles* each : {&first, &second, &third}) each->share(parent);
    EXPECT_EQ(budget.left, 10'000 - MappedFiles::kMostOfAProcess);
    first.map(page(7, "b"));
    second.take_out(0x7000, 0x8000);
    EXPECT_EQ(first.at(0x7010)->file, "b");
    EXPECT_EQ(second.at(0x7010), nullptr);
    EXPECT_EQ(parent.at(0x7010)->file, "a");
    third.map(page(7, "c"));
    EXPECT_EQ(third.at(0x7010)->file, "c");
    EXPECT_EQ(third.at(0x8010), nullptr) << "there was no room for a third copy";
  }
  EXPECT_EQ(budget.left, 10'000 - MappedFiles::kMostOfAProcess);
  parent.clear();
  EXPECT_EQ(budget.left, 10'000);
}

TEST(MappedFiles, WhatIsCutKeepsItsOffsets) {
  MappedFiles::Budget budget;
  MappedFiles files(budget);
  Mapping whole;
  whole.begin = 0x1000;
  whole.end = 0x9000;
  whole.file = "a";
  files.map(whole);
  EXPECT_TRUE(files.take_out(0x3000, 0x5000));
  EXPECT_EQ(files.at(0x2fff)->end, 0x3000u);
  EXPECT_EQ(files.at(0x3000), nullptr);
  ASSERT_NE(files.at(0x5000), nullptr);
  EXPECT_EQ(files.at(0x5000)->file_offset, 0x4000u);
  EXPECT_FALSE(files.take_out(0x3000, 0x5000));
}

// Somebody else looks at /proc. What records have told meanwhile is newer than what was found.
TEST(ProcessCode, ALookThatCameTooLateIsNotBelieved) {
  test::LaterWork later;
  FileTables files(later.run());
  ProcessCode own("/proc", ::getpid(), files);
  const auto address = reinterpret_cast<std::uint64_t>(&::getpid);
  const std::vector<std::byte> stack(64);
  const auto step = [&](TimeNs now) {
    Frame frame;
    frame.set(kReturnAddress, address);
    frame.set(kSp, 0x7000);
    own.begin_walk(now);
    bool signal = false;
    own.step(frame, true, {0x7000, stack}, signal, now);
    return own.missing();
  };
  const auto first = step(0);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(step(1), first) << "it is still looked";
  later.do_all();
  Mapping told;
  told.begin = 0x1000;
  told.end = 0x2000;
  told.file = "08:01:1";
  own.map(told);
  const auto second = step(2);
  EXPECT_NE(second, first);
  ASSERT_NE(second, nullptr) << "so another look is needed";
  later.do_all();
  const auto third = step(3);
  ASSERT_NE(third, nullptr) << "now it is known which file lies there, which is to be read";
  later.do_all();
  EXPECT_EQ(step(4), nullptr);
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

// Somebody who registers tables all the time must not occupy the thread that unwinds for everybody.
TEST(ProcessCode, ATableThatIsTooLargeIsLeftOut) {
  FileTables files;
  ProcessCode code("/nonexistent", 1, files);
  EXPECT_TRUE(code.add_code({1, 0x1000, 0x2000}, std::string(ProcessCode::kMostOfATable, '\0'), 0));
  EXPECT_FALSE(code.add_code({2, 0x3000, 0x4000}, std::string(ProcessCode::kMostOfATable + 1, '\0'), 0));
  EXPECT_TRUE(code.is_generated(0x3000)) << "the code itself is known";
  EXPECT_LT(code.bytes(), ProcessCode::kMostOfATable + 4096);
}

TEST(ProcessCode, LargeTablesAreIndexedInTurn) {
  constexpr TimeNs kTurn = 50'000'000;
  FileTables files;
  EXPECT_TRUE(files.may_index(ProcessCode::kMostOfATable, 7));
  EXPECT_FALSE(files.may_index(5000, 8));
  EXPECT_TRUE(files.may_index(4096, 8)) << "a small one always";
  EXPECT_TRUE(files.may_index(5000, 7 + kTurn));
}

// What lies behind the end of the table makes it a large one.
TEST(ProcessCode, ATableThatWaitedIsIndexedLater) {
  constexpr TimeNs kTurn = 50'000'000;
  FileTables files;
  ProcessCode code("/nonexistent", 1, files);
  const auto table = test::small_table();
  std::string bytes(reinterpret_cast<const char*>(table.data()), table.size());
  bytes.resize(5000);
  code.add_code({1, test::kCode, test::kCode + 0x40, false}, bytes, test::kTable);
  const auto stack = test::words({0xBB, 0x9005});
  Frame frame;
  frame.set(kReturnAddress, test::kCode + 1);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x1234);
  bool signal = false;
  ASSERT_TRUE(files.may_index(ProcessCode::kMostOfATable, 0));
  EXPECT_FALSE(code.step(frame, true, {0x7000, stack}, signal, 1));
  EXPECT_TRUE(code.step(frame, true, {0x7000, stack}, signal, kTurn));
  EXPECT_EQ(frame.value[kReturnAddress], 0x9005u);
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

// As gcc -static makes programs: nothing but the section's name says where the table is.
TEST(ReadElfCfi, AProgramWithoutAHeaderOfTheTableHasOne) {
  std::stringstream content;
  content << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
  std::string bytes = content.str();
  Elf64_Ehdr header;
  std::memcpy(&header, bytes.data(), sizeof header);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    char* const at = bytes.data() + header.e_phoff + i * sizeof(Elf64_Phdr);
    Elf64_Phdr segment;
    std::memcpy(&segment, at, sizeof segment);
    if (segment.p_type != PT_GNU_EH_FRAME) continue;
    segment.p_type = PT_NULL;
    std::memcpy(at, &segment, sizeof segment);
  }
  const std::string path = testing::TempDir() + "tailor-static-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << bytes;
  const auto without = read_elf_cfi(path), with = read_elf_cfi("/proc/self/exe");
  ASSERT_TRUE(without.ok()) << without.error().message;
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(without->table.entries(), with->table.entries());
  header.e_shoff = bytes.size() - 3;  // and one that lies
  std::memcpy(bytes.data(), &header, sizeof header);
  std::ofstream(path, std::ios::binary) << bytes;
  EXPECT_FALSE(read_elf_cfi(path).ok());
  ::unlink(path.c_str());
}

// An ELF file of one executable segment at test::kCode, and of nothing else but a .debug_frame.
std::string with_debug_frame(std::span<const std::byte> section, std::uint64_t flags) {
  const std::string names("\0.shstrtab\0.debug_frame\0", 24);
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_machine = EM_X86_64;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 1;
  header.e_phoff = sizeof header;
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 3;
  header.e_shstrndx = 1;
  Elf64_Phdr code{};
  code.p_type = PT_LOAD;
  code.p_flags = PF_X;
  code.p_vaddr = test::kCode;
  code.p_filesz = 0x1000;
  const std::uint64_t names_at = sizeof header + sizeof code, section_at = names_at + names.size();
  header.e_shoff = section_at + section.size();
  std::array<Elf64_Shdr, 3> sections{};
  sections[1] = {.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = names_at, .sh_size = names.size()};
  sections[2] = {.sh_name = 11,
                 .sh_type = SHT_PROGBITS,
                 .sh_flags = flags,
                 .sh_offset = section_at,
                 .sh_size = section.size()};
  std::string bytes;
  const auto put = [&](const void* from, std::size_t size) {
    bytes.append(static_cast<const char*>(from), size);
  };
  put(&header, sizeof header);
  put(&code, sizeof code);
  bytes += names;
  put(section.data(), section.size());
  put(sections.data(), sizeof sections);
  return bytes;
}

std::vector<std::byte> compressed(std::span<const std::byte> bytes, std::uint64_t said_size) {
  uLongf size = ::compressBound(bytes.size());
  std::vector<std::byte> out(sizeof(Elf64_Chdr) + size);
  const Elf64_Chdr header{
      .ch_type = ELFCOMPRESS_ZLIB, .ch_reserved = 0, .ch_size = said_size, .ch_addralign = 8};
  std::memcpy(out.data(), &header, sizeof header);
  ::compress(reinterpret_cast<Bytef*>(out.data() + sizeof header), &size,
             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  out.resize(sizeof header + size);
  return out;
}

TEST(ReadElfCfi, AFileWithNothingButADebugFrame) {
  const std::vector<std::byte> frame = test::small_debug_frame();
  const std::string path = testing::TempDir() + "tailor-debug-frame-" + std::to_string(::getpid());
  const auto entries = [&](const std::string& file) -> std::size_t {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << file;
    const auto elf = read_elf_cfi(path);
    return elf.ok() ? elf->table.entries() : 0;
  };
  EXPECT_EQ(entries(with_debug_frame(frame, 0)), 1u);
  EXPECT_EQ(entries(with_debug_frame(compressed(frame, frame.size()), SHF_COMPRESSED)), 1u);
  for (const std::uint64_t size : {frame.size() - 1, frame.size() + 1, std::uint64_t{1} << 60})
    EXPECT_EQ(entries(with_debug_frame(compressed(frame, size), SHF_COMPRESSED)), 0u) << "it lies: " << size;
  EXPECT_EQ(entries(with_debug_frame(frame, SHF_COMPRESSED)), 0u);
  EXPECT_EQ(entries(with_debug_frame({}, 0)), 0u);
  ::unlink(path.c_str());
}

// Code of a runtime without an agent, as its jitdump describes it: one walks through it.
TEST(ProcessCode, ForeignCodeLeadsToItsCallerUntilItIsForgotten) {
  FileTables files;
  ProcessCode code("/nonexistent", 1, files);
  const std::vector<std::byte> table = test::small_table();
  const std::string_view text(reinterpret_cast<const char*>(table.data()), table.size());
  const auto stack = test::words({0xBB, 0x9005});
  const auto leads = [&] {
    Frame frame;
    frame.set(kReturnAddress, test::kCode + 1);
    frame.set(kSp, 0x7000);
    bool signal = false;
    return code.step(frame, true, {0x7000, stack}, signal, 0) && frame.value[kReturnAddress] == 0x9005;
  };
  ASSERT_TRUE(code.add_code({1, test::kCode, test::kCode + 0x40, false}, text, test::kTable));
  EXPECT_TRUE(leads());
  EXPECT_FALSE(code.is_generated(test::kCode)) << "the walk goes on";
  code.forget_code(test::kCode + 0x40, test::kCode + 0x80);
  EXPECT_TRUE(leads());
  code.forget_code(test::kCode + 0x3F, test::kCode + 0x80);
  EXPECT_FALSE(leads());
  EXPECT_EQ(code.bytes(), 0u);
}

}  // namespace
}  // namespace tailor::unwind
