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

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

template <typename T>
T At(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

// Two functions of eight bytes at 0x1000; IR 7 from offset 2, IR 9 from 8.
v1::CodeObject Code() {
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
  rows.Add(0, {}, RowFlag::kPrologue);
  rows.Add(2, {&one, 1}, RowFlag::kExact);
  rows.Add(8, {&other, 1}, RowFlag::kExact);
  *code.mutable_rows() = rows.Build();
  return code;
}

v1::Plan Described() {
  v1::Plan plan;
  plan.set_id(5);
  auto* ir = plan.add_attachments();
  ir->set_kind("ir");
  ir->set_content("line one\nline two\n");
  return plan;
}

TEST(PerfMapFile, HasOneLineForEachFunction) {
  auto map = PerfMap::Create();
  ASSERT_TRUE(map.ok()) << map.error().message;
  EXPECT_EQ((*map)->path(), "/tmp/perf-" + std::to_string(::getpid()) + ".map");
  ASSERT_TRUE((*map)->Add(Code()).ok());
  EXPECT_EQ(Content((*map)->path()), "1000 8 first\n1008 8 second 40 40 forged\n");
  std::filesystem::remove((*map)->path());
}

TEST(JitDumpFile, HasLinesThenCodeOfEachFunction) {
  const std::string folder = testing::TempDir() + "jitdump-" + std::to_string(::getpid());
  std::string path;
  {
    auto dump = JitDump::Create(folder);
    ASSERT_TRUE(dump.ok()) << dump.error().message;
    path = (*dump)->path();
    EXPECT_NE(Content("/proc/self/maps").find(path), std::string::npos) << "perf finds it by its mapping";
    ASSERT_TRUE((*dump)->Add(Described(), Code()).ok());
    v1::CodeObject broken = Code();
    broken.mutable_rows()->mutable_flags()->push_back('x');
    EXPECT_FALSE((*dump)->Add(Described(), broken).ok());
  }
  const std::string bytes = Content(path);
  EXPECT_EQ(At<std::uint32_t>(bytes, 0), 0x4A695444u);
  EXPECT_EQ(At<std::uint32_t>(bytes, 20), static_cast<std::uint32_t>(::getpid()));
  std::vector<std::uint32_t> kinds;
  std::vector<std::uint32_t> lines;
  std::size_t at = 40;
  for (; at + 16 <= bytes.size(); at += At<std::uint32_t>(bytes, at + 4)) {
    kinds.push_back(At<std::uint32_t>(bytes, at));
    if (kinds.back() == 2) {
      EXPECT_EQ(At<std::uint64_t>(bytes, at + 24), 1u);
      lines.push_back(At<std::uint32_t>(bytes, at + 40));
    }
    ASSERT_GE(At<std::uint32_t>(bytes, at + 4), 16u);
  }
  EXPECT_EQ(at, bytes.size());
  EXPECT_EQ(kinds, (std::vector<std::uint32_t>{2, 0, 2, 0, 3}));
  EXPECT_EQ(lines, (std::vector<std::uint32_t>{7, 9}));
  EXPECT_EQ(Content(folder + "/jit-" + std::to_string(::getpid()) + "-plan-5.ll"), "line one\nline two\n");
  std::filesystem::remove_all(folder);
}

TEST(JitDumpFile, AFolderThatCannotBeIsAnError) {
  auto dump = JitDump::Create("/proc/none");
  ASSERT_FALSE(dump.ok());
  EXPECT_NE(dump.error().message.find("/proc/none"), std::string::npos);
}

TEST(GdbSymbolFile, IsAnElfFileWhoseSectionsLieWhereTheCodeDoes) {
  const std::string file = SymbolFile(Code());
  const auto header = At<Elf64_Ehdr>(file, 0);
  ASSERT_EQ(std::memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  auto section = [&](std::size_t i) { return At<Elf64_Shdr>(file, header.e_shoff + i * sizeof(Elf64_Shdr)); };
  ASSERT_EQ(header.e_shnum, 6);
  const auto names = section(header.e_shstrndx);
  auto name = [&](const Elf64_Shdr& s) { return std::string(file.data() + names.sh_offset + s.sh_name); };
  EXPECT_EQ(name(section(1)), ".text");
  EXPECT_EQ(section(1).sh_addr, 0x1000u);
  EXPECT_EQ(name(section(2)), ".eh_frame");
  EXPECT_EQ(section(2).sh_addr, 0x2000u);
  const auto symbols = section(3), strings = section(4);
  ASSERT_EQ(symbols.sh_size, 3 * sizeof(Elf64_Sym));
  const auto first = At<Elf64_Sym>(file, symbols.sh_offset + sizeof(Elf64_Sym));
  EXPECT_STREQ(file.data() + strings.sh_offset + first.st_name, "first");
  EXPECT_EQ(first.st_size, 8u);
}

TEST(GdbSymbolFile, EntriesComeAndGo) {
  GdbSymbols one;
  one.Add(Code());
  {
    GdbSymbols two;
    two.Add(Code());
    two.Add(Code());
  }
  one.Add(Code());
}

}  // namespace
}  // namespace tailor::tagging
