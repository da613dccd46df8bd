// Files without a build id differ by what they are: code, names, headers; not by when or how they were
// written.
#include "daemon/os/content_id.h"

#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>

#include "daemon/os/elf_build_id.h"
#include "proto/base/file_id.h"

namespace tailor::os {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kCodeAt = 0x1000, kNamesAt = 0x2000, kSymbolsAt = 0x2100, kSectionsAt = 0x2200,
                      kDebugAt = 0x3000, kEnd = 0x4000;

template <typename T>
void put(std::string& to, std::size_t at, const T& what) {
  std::memcpy(&to[at], &what, sizeof what);
}

// A program of 64 bits: code, a table of one symbol, something that is debug information.
std::string program(const std::string& code = "code", const std::string& name = "hot",
                    const std::string& debug = "lines") {
  std::string out(kEnd, '\0');
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_phoff = sizeof header;
  header.e_phnum = 1;
  header.e_shoff = kSectionsAt;
  header.e_shnum = 4;
  put(out, 0, header);
  put(out, sizeof header, Elf64_Phdr{PT_LOAD, PF_R | PF_X, kCodeAt, 0x1000, 0x1000, 0x800, 0x800, 0x1000});
  Elf64_Shdr symbols{}, names{}, lines{};
  symbols.sh_type = SHT_SYMTAB;
  symbols.sh_offset = kSymbolsAt;
  symbols.sh_size = sizeof(Elf64_Sym);
  symbols.sh_link = 2;
  names.sh_type = SHT_STRTAB;
  names.sh_offset = kNamesAt;
  names.sh_size = 0x100;
  lines.sh_type = SHT_PROGBITS;
  lines.sh_offset = kDebugAt;
  lines.sh_size = 0x800;
  put(out, kSectionsAt + sizeof symbols, symbols);
  put(out, kSectionsAt + 2 * sizeof symbols, names);
  put(out, kSectionsAt + 3 * sizeof symbols, lines);
  out.replace(kCodeAt, code.size(), code);
  out.replace(kNamesAt + 1, name.size(), name);
  out.replace(kDebugAt, debug.size(), debug);
  return out;
}

class ContentIdTest : public testing::Test {
 protected:
  ContentIdTest() { fs::create_directories(folder_); }
  ~ContentIdTest() override { fs::remove_all(folder_); }

  std::string write(const std::string& content, const std::string& name = "program") const {
    const std::string path = (folder_ / name).string();
    std::ofstream(path, std::ios::binary) << content;
    return path;
  }
  std::string id(const std::string& content) const { return content_id(fs::path(write(content))); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("content_id_" + std::to_string(::getpid()));
};

TEST_F(ContentIdTest, EqualFilesAreEqualWhereverTheyAre) {
  const std::string first = write(program()), second = write(program(), "copy");
  const std::string id = content_id(fs::path(first));
  EXPECT_TRUE(is_content_id(id)) << id;
  EXPECT_EQ(id.size(), kContentId.size() + 40);
  EXPECT_EQ(only_build_id(id), "") << "no linker gives it";
  EXPECT_EQ(content_id(fs::path(second)), id);
  EXPECT_TRUE(has_id(second, id));
  EXPECT_FALSE(has_id(second, "0123"));
}

// Each of these is another program, if only by what a function is called.
TEST_F(ContentIdTest, CodeNamesAndHeadersCount) {
  const std::string one = id(program());
  EXPECT_NE(id(program("Code")), one);
  EXPECT_NE(id(program("code", "hat")), one);
  std::string moved = program();
  put(moved, offsetof(Elf64_Ehdr, e_entry), std::uint64_t{0x1008});
  EXPECT_NE(id(moved), one);
  std::string last = program();
  last[kCodeAt + 0x7ff] = 'x';
  EXPECT_NE(id(last), one);
  EXPECT_EQ(id(program()), one);
}

TEST_F(ContentIdTest, DebugInformationDoesNotCount) {
  EXPECT_EQ(id(program("code", "hot", "other")), id(program()));
}

// The name, the mode and the times may change; and equal times prove nothing.
TEST_F(ContentIdTest, TimesDoNotCount) {
  const std::string path = write(program());
  const std::string one = content_id(fs::path(path));
  struct stat facts{};
  ASSERT_EQ(::stat(path.c_str(), &facts), 0);
  fs::create_hard_link(path, path + ".link");
  ASSERT_EQ(::chmod(path.c_str(), 0500), 0);
  EXPECT_EQ(content_id(fs::path(path)), one);
  ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  const timespec times[2] = {facts.st_atim, facts.st_mtim};
  write(program("evil"));
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
  EXPECT_NE(content_id(fs::path(path)), one);
}

TEST_F(ContentIdTest, WhatIsNoProgramHasNone) {
  EXPECT_EQ(id(""), "");
  EXPECT_EQ(id("#!/bin/sh\n"), "");
  EXPECT_EQ(id(program().substr(0, 40)), "");
  EXPECT_EQ(content_id(folder_), "");
  EXPECT_EQ(content_id(folder_ / "nothing"), "");
  const std::string fifo = (folder_ / "fifo").string();
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  EXPECT_EQ(content_id(fs::path(fifo)), "") << "nobody waits for a writer";
}

// Sizes and places that a stranger wrote: nothing beyond the file is read, and each byte once.
TEST_F(ContentIdTest, HostileTablesAreBounded) {
  std::string far = program();
  put(far, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_offset), UINT64_MAX - 4);
  put(far, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), UINT64_MAX);
  EXPECT_TRUE(is_content_id(id(far)));
  std::string many = program();
  put(many, offsetof(Elf64_Ehdr, e_shnum), std::uint16_t{0});
  put(many, kSectionsAt + offsetof(Elf64_Shdr, sh_size), UINT64_MAX);
  (void)id(many);
  for (std::size_t size = 0; size < kEnd; size += 61) (void)id(program().substr(0, size));
}

TEST_F(ContentIdTest, ALargeFileHasNone) {
  std::string large = program();
  put(large, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz), kMostOfContent);
  const std::string path = write(large);
  fs::resize_file(path, kMostOfContent / 2);  // with holes
  EXPECT_TRUE(is_content_id(content_id(fs::path(path))));
  fs::resize_file(path, kMostOfContent + 2 * kEnd);
  EXPECT_EQ(content_id(fs::path(path)), "");
}

TEST_F(ContentIdTest, ABuildIdGoesFirst) {
  const std::string plain = write(program());
  EXPECT_EQ(file_id(plain), content_id(fs::path(plain)));
  const std::string own = elf_build_id("/proc/self/exe");
  if (own.empty()) GTEST_SKIP() << "this compiler gives no build ids";
  EXPECT_EQ(file_id("/proc/self/exe"), own);
  EXPECT_TRUE(has_id("/proc/self/exe", own));
}

}  // namespace
}  // namespace tailor::os
