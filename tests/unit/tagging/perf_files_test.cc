#include "compiler/tagging/perf_files.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "compiler/tagging/gdb_symbols.h"
#include "compiler/tagging/row_table_builder.h"

namespace tailor::tagging {
namespace {

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Two functions of eight bytes at 0x1000; IR 7 from offset 2, IR 9 from 8.
v1::CodeObject code() {
  v1::CodeObject code;
  code.set_id(3);
  code.set_base(0x1000);
  code.set_code(std::string(15, '\x90') + "\xc3");
  code.set_eh_frame("frames");
  code.set_eh_frame_address(0x2000);
  for (std::uint32_t i : {0u, 1u}) {
    auto* symbol = code.add_symbols();
    symbol->set_offset(i * 8);
    symbol->set_size(8);
    symbol->set_name(i == 0 ? "first" : "second\n40 40 forged");
  }
  RowTableBuilder rows;
  const ComponentId one = 7, other = 9;
  rows.add(0, {}, RowFlag::kPrologue);
  rows.add(2, {&one, 1}, RowFlag::kExact);
  rows.add(8, {&other, 1}, RowFlag::kExact);
  *code.mutable_rows() = rows.build();
  return code;
}

v1::Plan described() {
  v1::Plan plan;
  plan.set_id(5);
  auto* ir = plan.add_attachments();
  ir->set_kind("ir");
  ir->set_content("line one\nline two\n");
  return plan;
}

TEST(PerfMapFile, HasOneLineForEachFunction) {
  auto map = PerfMap::create();
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ((*map)->path(), "/tmp/perf-" + std::to_string(::getpid()) + ".map");
  ASSERT_TRUE((*map)->add(code()).ok());
  EXPECT_EQ(content((*map)->path()), "1000 8 first\n1008 8 second 40 40 forged\n");
  std::filesystem::remove((*map)->path());
}

TEST(JitDumpFile, HasLinesThenCodeOfEachFunction) {
  const std::string folder = testing::TempDir() + "jitdump-" + std::to_string(::getpid());
  std::string path;
  {
    auto dump = JitDump::create(folder);
    ASSERT_TRUE(dump.ok()) << dump.error().message;
    path = (*dump)->path();
    EXPECT_NE(content("/proc/self/maps").find(path), std::string::npos) << "perf finds it by its mapping";
    ASSERT_TRUE((*dump)->add(described(), code()).ok());
    v1::CodeObject broken = code();
    broken.mutable_rows()->mutable_flags()->push_back('x');
    EXPECT_FALSE((*dump)->add(described(), broken).ok());
  }
  const std::string bytes = content(path);
  EXPECT_EQ(at<std::uint32_t>(bytes, 0), 0x4A695444u);
  EXPECT_EQ(at<std::uint32_t>(bytes, 20), static_cast<std::uint32_t>(::getpid()));
  std::vector<std::uint32_t> kinds;
  std::vector<std::uint32_t> lines;
  std::size_t offset = 40;
  for (; offset + 16 <= bytes.size(); offset += at<std::uint32_t>(bytes, offset + 4)) {
    kinds.push_back(at<std::uint32_t>(bytes, offset));
    if (kinds.back() == 2) {
      EXPECT_EQ(at<std::uint64_t>(bytes, offset + 24), 1u);
      lines.push_back(at<std::uint32_t>(bytes, offset + 40));
    }
    ASSERT_GE(at<std::uint32_t>(bytes, offset + 4), 16u);
  }
  EXPECT_EQ(offset, bytes.size());
  EXPECT_EQ(kinds, (std::vector<std::uint32_t>{2, 0, 2, 0, 3}));
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{7, 9}));
  EXPECT_EQ(content(folder + "/jit-" + std::to_string(::getpid()) + "-plan-5.ll"), "line one\nline two\n");
  std::filesystem::remove_all(folder);
}

TEST(JitDumpFile, AFolderThatCannotBeIsAnError) {
  auto dump = JitDump::create("/proc/none");
  ASSERT_FALSE(dump.ok());
  EXPECT_NE(dump.error().message.find("/proc/none"), std::string::npos);
}

TEST(GdbSymbolFile, IsAnElfFileWhoseSectionsLieWhereTheCodeDoes) {
  const std::string file = symbol_file(code());
  const auto header = at<Elf64_Ehdr>(file, 0);
  ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  auto section = [&](std::size_t i) { return at<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  ASSERT_EQ(header.e_shnum, 6);
  const auto names = section(header.e_shstrndx);
  auto name = [&](const Elf64_Shdr& s) { return std::string(file.data() + names.sh_offset + s.sh_name); };
  EXPECT_EQ(name(section(1)), ".text");
  EXPECT_EQ(section(1).sh_addr, 0x1000u);
  EXPECT_EQ(name(section(2)), ".eh_frame");
  EXPECT_EQ(section(2).sh_addr, 0x2000u);
  const auto symbols = section(3), strings = section(4);
  ASSERT_EQ(symbols.sh_size, 3 * sizeof(Elf64_Sym));
  const auto first = at<Elf64_Sym>(file, symbols.sh_offset + sizeof(Elf64_Sym));
  EXPECT_STREQ(file.data() + strings.sh_offset + first.st_name, "first");
  EXPECT_EQ(first.st_size, 8u);
}

TEST(GdbSymbolFile, EntriesComeAndGo) {
  GdbSymbols one;
  one.add(code());
  {
    GdbSymbols two;
    two.add(code());
    two.add(code());
  }
  one.add(code());
}

}  // namespace
}  // namespace tailor::tagging
