// Where files keep the names of their functions, each by a file that is made for it.
#include <elf.h>
#include <gtest/gtest.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "daemon/os/elf_build_id.h"
#include "daemon/query/symbols/elf_functions.h"
#include "daemon/query/symbols/symbols.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;

class ElfNames : public testing::Test {
 protected:
  ElfNames() { fs::create_directories(folder_); }
  ~ElfNames() override { fs::remove_all(folder_); }
  std::string path(const std::string& name = "file") const { return (folder_ / name).string(); }

  template <bool kWide>
  ElfFunctions read(const ElfImage<kWide>& image) const {
    write_image(path(), image.bytes());
    auto read = read_elf_functions(path(), {}, (folder_ / "root").string());
    EXPECT_TRUE(read.ok()) << read.error().message;
    return read.ok() ? *std::move(read) : ElfFunctions{};
  }
  // "name begin-end", in hexadecimal.
  static std::string text(const ElfFunctions& all) {
    std::string out;
    for (const ElfFunction& each : all.functions) {
      char line[64];
      std::snprintf(line, sizeof line, " %llx-%llx\n", static_cast<unsigned long long>(each.begin),
                    static_cast<unsigned long long>(each.end));
      out += each.name + line;
    }
    return out;
  }

  fs::path folder_ = fs::path(testing::TempDir()) / ("elf_names_" + std::to_string(::getpid()));
};

TEST_F(ElfNames, WhatAssemblersAndCompilersOfOtherLanguagesWriteAreFunctions) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x200, '\x90'));
  image.add({".data", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x3000, std::string(64, '\0'), 0});
  image.symbols(SHT_SYMTAB, {{"a.c", STB_LOCAL, STT_FILE, SHN_ABS, 0, 0},
                             {"local", STB_LOCAL, STT_FUNC, 1, 0x1000, 0x10},
                             {".Lcut", STB_LOCAL, STT_NOTYPE, 1, 0x1008, 0},
                             {"loop", STB_LOCAL, STT_NOTYPE, 1, 0x1004, 0},
                             {"nasm", STB_GLOBAL, STT_NOTYPE, 1, 0x1040, 0},
                             {"ghc_info", STB_GLOBAL, STT_OBJECT, 1, 0x1080, 0x20},
                             {"variable", STB_GLOBAL, STT_OBJECT, 2, 0x3000, 8},
                             {"too_long", STB_GLOBAL, STT_FUNC, 1, 0x10c0, 0x10000},
                             {"last", STB_LOCAL, STT_NOTYPE, 1, 0x1100, 0},
                             {"_etext", STB_GLOBAL, STT_NOTYPE, 1, 0x1200, 0}});
  const ElfFunctions all = read(image);
  EXPECT_EQ(text(all), "local 1000-1010\nnasm 1040-1080\nghc_info 1080-10a0\ntoo_long 10c0-1200\n");
  EXPECT_EQ(all.functions.front().source, "a.c");
  EXPECT_EQ(all.functions.back().source, "");
}

// What has a size, then what is not weak, is global, has fewer underscores in front, has the longer name.
TEST_F(ElfNames, OfSeveralNamesForOneAddressPerfsIsTaken) {
  std::vector<ImageSymbol> symbols = {{"write", STB_WEAK, STT_FUNC, 1, 0x1000, 0x10},
                                      {"__write", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x10},
                                      {"of_its_file", STB_LOCAL, STT_FUNC, 1, 0x1010, 0x10},
                                      {"shared", STB_GLOBAL, STT_FUNC, 1, 0x1010, 0x10},
                                      {"_IO_underscore", STB_GLOBAL, STT_FUNC, 1, 0x1020, 0x10},
                                      {"none", STB_GLOBAL, STT_FUNC, 1, 0x1020, 0x10},
                                      {"f", STB_GLOBAL, STT_FUNC, 1, 0x1030, 0x10},
                                      {"f_by_its_long_name", STB_GLOBAL, STT_FUNC, 1, 0x1030, 0x10},
                                      {"label", STB_GLOBAL, STT_NOTYPE, 1, 0x1040, 0},
                                      {"sized", STB_WEAK, STT_FUNC, 1, 0x1040, 0x10}};
  for (int turn = 0; turn < 2; ++turn) {
    ElfImage<true> image;
    image.code(".text", 0x1000, std::string(0x100, '\x90'));
    image.symbols(SHT_SYMTAB, symbols);
    EXPECT_EQ(text(read(image)),
              "__write 1000-1010\nshared 1010-1020\nnone 1020-1030\nf_by_its_long_name 1030-1040\nsized "
              "1040-1050\n");
    std::ranges::reverse(symbols);
  }
}

TEST_F(ElfNames, ALabelBehindTheLastFunctionReachesToTheEndOfItsSection) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x2000, '\x90')).code(".other", 0x3000, std::string(16, '\x90'));
  image.symbols(SHT_SYMTAB,
                {{"label", STB_LOCAL, STT_NOTYPE, 1, 0x1100, 0}, {"f", STB_GLOBAL, STT_FUNC, 2, 0x3000, 16}});
  EXPECT_EQ(text(read(image)), "label 1100-3000\nf 3000-3010\n");
}

TEST_F(ElfNames, FilesOf32BitsAreRead) {
  ElfImage<false> image;
  image.code(".text", 0x8049000, std::string(64, '\x90')).build_id("\x12\x34\x56");
  image.symbols(SHT_SYMTAB, {{"hot", STB_GLOBAL, STT_FUNC, 1, 0x8049000, 16},
                             {"cold", STB_GLOBAL, STT_FUNC, 1, 0x8049010, 16}});
  const ElfFunctions all = read(image);
  EXPECT_EQ(text(all), "hot 8049000-8049010\ncold 8049010-8049020\n");
  EXPECT_EQ(all.build_id, "123456");
  EXPECT_EQ(os::elf_build_id(path()), "123456");
  ASSERT_EQ(all.segments.size(), 1u);
  const auto names = FunctionNames::read(path());
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(names->at(all.segments[0].offset + 0x12).name, "cold");
}

// The code of an entry, where in it is the offset of the slot from the end of that offset, and where the
// number that it gives the loader (0: it gives none of ours).
struct Entry {
  std::string code;
  std::size_t offset_at = 0, offset_end = 0, number_at = 0;
};

class LinkageTable : public ElfNames {
 protected:
  static constexpr std::uint64_t kTable = 0x1000, kSlots = 0x4000;

  // `head`, then entries of functions f0, f1, f2.
  std::string named(const std::string& head, const Entry& entry) {
    std::string code = head;
    for (int i = 0; i < 3; ++i) {
      const std::size_t begin = code.size();
      code += entry.code;
      const auto offset = static_cast<std::int32_t>(kSlots + 8 * static_cast<std::uint64_t>(i) -
                                                    (kTable + begin + entry.offset_end));
      std::memcpy(&code[begin + entry.offset_at], &offset, sizeof offset);
      if (entry.number_at != 0) std::memcpy(&code[begin + entry.number_at], &i, sizeof i);
    }
    ElfImage<true> image;
    image.code(".plt", kTable, code);
    image.symbols(SHT_DYNSYM, {{"f0", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0},
                               {"f1", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0},
                               {"f2", STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0}});
    std::string relocations;
    for (std::uint64_t i = 0; i < 3; ++i)
      ElfImage<true>::append(relocations,
                             Elf64_Rela{kSlots + 8 * i, ELF64_R_INFO(i + 1, R_X86_64_JUMP_SLOT), 0});
    image.add({".rela.plt", SHT_RELA, 0, 0, relocations, 2});
    return text(read(image));
  }
};

using namespace std::string_literals;

TEST_F(LinkageTable, OfBfd) {
  const std::string head = "\xff\x35\x00\x10\x00\x00\xff\x25\x00\x10\x00\x00\x0f\x1f\x40\x00"s;
  const Entry entry{"\xff\x25\x00\x00\x00\x00\x68\x00\x00\x00\x00\xe9\x00\x00\x00\x00"s, 2, 6, 7};
  EXPECT_EQ(named(head, entry), "f0@plt 1010-1020\nf1@plt 1020-1030\nf2@plt 1030-1040\n");
}

TEST_F(LinkageTable, OfMold) {
  const std::string head =
      "\xf3\x0f\x1e\xfa\x41\x53\xff\x35\x00\x10\x00\x00\xff\x25\x00\x10\x00\x00"s + std::string(14, '\xcc');
  const Entry entry{"\xf3\x0f\x1e\xfa\x41\xbb\x00\x00\x00\x00\xff\x25\x00\x00\x00\x00"s, 12, 16};
  EXPECT_EQ(named(head, entry), "f0@plt 1020-1030\nf1@plt 1030-1040\nf2@plt 1040-1050\n");
}

TEST_F(LinkageTable, WithoutAHead) {
  const Entry entry{"\xff\x25\x00\x00\x00\x00\x66\x90"s, 2, 6};
  EXPECT_EQ(named("", entry), "f0@plt 1000-1008\nf1@plt 1008-1010\nf2@plt 1010-1018\n");
}

TEST_F(LinkageTable, WithRetpolines) {
  const std::string head = "\xff\x35\x00\x10\x00\x00\x4c\x8b\x1d\x00\x10\x00\x00\xe8\x0e\x00\x00\x00"s +
                           "\xf3\x90\x0f\xae\xe8\xeb\xf9"s + std::string(7, '\xcc') +
                           "\x4c\x89\x1c\x24\xc3"s + std::string(11, '\xcc');
  const Entry entry{"\x4c\x8b\x1d\x00\x00\x00\x00\xe8\x00\x00\x00\x00\xe9\x00\x00\x00\x00"s +
                        "\x68\x07\x00\x00\x00\xe9\x00\x00\x00\x00"s + std::string(5, '\xcc'),
                    3, 7};
  EXPECT_EQ(named(head, entry), "f0@plt 1030-1050\nf1@plt 1050-1070\nf2@plt 1070-1090\n");
}

TEST_F(LinkageTable, WhatReadsNoKnownSlotHasNoName) {
  EXPECT_EQ(named("", {"\x0f\x0b\x90\x90\x00\x00\x00\x00"s, 4, 0x3000}), "");
}

// Go 1.20: cmd/link/internal/ld/pcln.go.
class GosOwnTable : public ElfNames {
 protected:
  static constexpr std::uint64_t kNames = 72, kFunctions = 72 + 24;
  static constexpr const char* kNamed = "main.(*T).Scan 401040-401080\nmain.f 401080-4010a0\n";

  // Of two functions. `text`: what it says of where code begins.
  static std::string table(std::uint64_t text) {
    std::string out;
    const auto put = [&](auto value) { ElfImage<true>::append(out, value); };
    put(std::uint32_t{0xFFFFFFF1});
    out += "\x00\x00\x01\x08"s;
    for (const std::uint64_t word :
         {std::uint64_t{2}, std::uint64_t{0}, text, kNames, kNames, kNames, kNames, kFunctions})
      put(word);
    out.resize(kNames);
    out += "main.(*T).Scan\0main.f\0"s;
    out.resize(kFunctions);
    for (const std::uint32_t word : {0u, 20u, 0x40u, 28u, 0x60u})
      put(word);                                                      // code and facts of each, the end
    for (const std::uint32_t word : {0u, 0u, 0x40u, 15u}) put(word);  // facts: code, name
    return out;
  }
  // What the runtime has of the program: the table at 0x402000, code from `text` on.
  static std::vector<std::uint64_t> module(std::uint64_t text) {
    constexpr std::uint64_t kTable = 0x402000;
    std::vector<std::uint64_t> out{kTable};
    for (int i = 0; i < 4; ++i) out.insert(out.end(), {kTable + kNames, 24, 24});
    out.insert(out.end(), {kTable + kFunctions, 36, 36, kTable + kFunctions, 3, 3, 0});
    out.insert(out.end(), {text, text + 0x60, text, text + 0x100});
    return out;
  }
  static std::string bytes_of(const std::vector<std::uint64_t>& words) {
    std::string out;
    for (const std::uint64_t word : words) ElfImage<true>::append(out, word);
    return out;
  }
  // Code that C brings lies before Go's, in its section.
  static ElfImage<true> image(const std::string& table) {
    ElfImage<true> out;
    out.code(".text", 0x401000, std::string(0x200, '\x90'));
    out.add({".gopclntab", SHT_PROGBITS, SHF_ALLOC, 0x402000, table, 0});
    return out;
  }
  static ElfImage<true>& data(ElfImage<true>& image, const std::string& content) {
    return image.add({".go.module", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0x403000, content, 0});
  }
};

TEST_F(GosOwnTable, NamesWhatIsStripped) {
  EXPECT_EQ(text(read(image(table(0x401040)))), kNamed);
}

// Go 1.2 to 1.15 have all places from the begin of the table, and Go 1.16 and 1.17 from the begin of its
// parts.
TEST_F(GosOwnTable, OfGoBefore118HasTheAddressesThemselves) {
  const auto put = [](std::string& to, auto... values) { (ElfImage<true>::append(to, values), ...); };
  const auto old = [&](std::uint64_t first, std::uint64_t second, std::uint64_t end) {
    std::string go12, go116;
    put(go12, std::uint32_t{0xFFFFFFFB}, std::uint32_t{0x08010000}, std::uint64_t{2});
    put(go12, first, std::uint64_t{64}, second, std::uint64_t{80}, end);
    go12.resize(64);
    put(go12, first, std::uint32_t{96}, 0u, second, std::uint32_t{111}, 0u);
    go12 += "main.(*T).Scan\0main.f\0"s;
    put(go116, std::uint32_t{0xFFFFFFFA}, std::uint32_t{0x08010000}, std::uint64_t{2}, std::uint64_t{0});
    put(go116, std::uint64_t{64}, std::uint64_t{64}, std::uint64_t{64}, std::uint64_t{64}, std::uint64_t{88});
    go116 += "main.(*T).Scan\0main.f\0"s;
    go116.resize(88);
    put(go116, first, std::uint64_t{40}, second, std::uint64_t{56}, end);
    put(go116, first, std::uint32_t{0}, 0u, second, std::uint32_t{15}, 0u);
    return std::pair(text(read(image(go12))), text(read(image(go116))));
  };
  EXPECT_EQ(old(0x401040, 0x401080, 0x4010a0), std::pair(std::string(kNamed), std::string(kNamed)));
  EXPECT_EQ(old(0, 0, 0), std::pair(std::string(), std::string())) << "the loader puts them there";
}

TEST_F(GosOwnTable, NamesNothingWhereNothingSaysWhereCodeBegins) {
  EXPECT_EQ(text(read(image(table(0)))), "");
  EXPECT_EQ(text(read(image(table(0x990000)))), "") << "there is no code";
}

TEST_F(GosOwnTable, ASymbolSaysWhereCodeBegins) {
  ElfImage<true> with = image(table(0));
  with.symbols(SHT_SYMTAB, {{"runtime.text", STB_LOCAL, STT_FUNC, 1, 0x401040, 0}});
  const std::string all = text(read(with));
  EXPECT_NE(all.find("main.f 401080-4010a0\n"), all.npos) << all;
}

TEST_F(GosOwnTable, TheRuntimesModuleSaysWhereCodeBegins) {
  ElfImage<true> with = image(table(0));
  // Words that are alike are none.
  data(with, bytes_of({0x402000, 0, 0x402000, 0x401000}) + bytes_of(module(0x401040)));
  EXPECT_EQ(text(read(with)), kNamed);
}

// Where code can lie anywhere: the file's own bytes are 0.
TEST_F(GosOwnTable, RelocationsSayItWhereCodeCanLieAnywhere) {
  const std::vector<std::uint64_t> words = module(0x401040);
  std::string relocations, head;
  std::vector<std::uint64_t> left(words.size());
  for (std::size_t i = 0; i < words.size(); ++i) {
    const bool address = words[i] > 0x1000;
    if (!address) left[i] = words[i];
    if (address)
      ElfImage<true>::append(
          relocations, Elf64_Rela{0x403000 + 8 * i, R_X86_64_RELATIVE, static_cast<std::int64_t>(words[i])});
  }
  ElfImage<true> with = image(table(0));
  data(with, bytes_of(left)).add({".rela.dyn", SHT_RELA, SHF_ALLOC, 0x404000, relocations, 0});
  EXPECT_EQ(text(read(with)), kNamed);
  ElfImage<true> of_head = image(table(0));
  ElfImage<true>::append(head, Elf64_Rela{0x402000 + 24, R_X86_64_RELATIVE, 0x401040});
  of_head.add({".rela.dyn", SHT_RELA, SHF_ALLOC, 0x404000, head, 0});
  EXPECT_EQ(text(read(of_head)), kNamed);
}

// Each word of it is a proof: with any other there is none.
TEST_F(GosOwnTable, AModuleOfAnotherTableSaysNothing) {
  for (const std::size_t word : {0, 1, 4, 7, 10, 13, 16, 17, 20, 21, 22}) {
    std::vector<std::uint64_t> words = module(0x401040);
    words[word] += 0x1000;
    ElfImage<true> with = image(table(0));
    data(with, bytes_of(words));
    EXPECT_EQ(text(read(with)), "") << word;
  }
}

std::string packed(const std::string& content) {
  std::string out(content.size() + 4096, '\0');
  std::size_t size = 0;
  EXPECT_EQ(::lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr,
                                      reinterpret_cast<const std::uint8_t*>(content.data()), content.size(),
                                      reinterpret_cast<std::uint8_t*>(out.data()), &size, out.size()),
            LZMA_OK);
  out.resize(size);
  return out;
}

TEST_F(ElfNames, ACompressedTableInTheFileIsRead) {
  ElfImage<true> inner;
  inner.code(".text", 0x1000, std::string(0x100, '\x90'));
  inner.symbols(SHT_SYMTAB, {{"hidden", STB_LOCAL, STT_FUNC, 1, 0x1020, 0x20}});
  const std::string content = packed(inner.bytes());
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x100, '\x90'));
  image.symbols(SHT_DYNSYM, {{"known", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x20}});
  image.add({".gnu_debugdata", SHT_PROGBITS, 0, 0, content, 0});
  EXPECT_EQ(text(read(image)), "known 1000-1020\nhidden 1020-1040\n");
  ElfImage<true> damaged;
  damaged.code(".text", 0x1000, std::string(0x100, '\x90'));
  damaged.symbols(SHT_DYNSYM, {{"known", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x20}});
  damaged.add({".gnu_debugdata", SHT_PROGBITS, 0, 0, content.substr(0, content.size() / 2), 0});
  EXPECT_EQ(text(read(damaged)), "known 1000-1020\n");
}

TEST_F(ElfNames, AFileOfDebugInformationBesideAFileThatKeptSomeSymbols) {
  ElfImage<true> image, debug;
  image.code(".text", 0x1000, std::string(0x100, '\x90')).build_id("\x11\x22");
  image.symbols(SHT_SYMTAB, {{"main", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x20}});
  debug.code(".text", 0x1000, std::string(0x100, '\x90')).build_id("\x11\x22");
  debug.symbols(SHT_SYMTAB, {{"rest", STB_LOCAL, STT_FUNC, 1, 0x1020, 0x20}});
  write_image(path("file.debug"), debug.bytes());
  EXPECT_EQ(text(read(image)), "main 1000-1020\nrest 1020-1040\n");
  ElfImage<true> other;
  other.code(".text", 0x1000, std::string(0x100, '\x90')).build_id("\x33\x44");
  other.symbols(SHT_SYMTAB, {{"wrong", STB_LOCAL, STT_FUNC, 1, 0x1020, 0x20}});
  write_image(path("file.debug"), other.bytes());
  EXPECT_EQ(text(read(image)), "main 1000-1020\n");
}

TEST_F(ElfNames, OnlyItsContentMakesAFileAnotherOne) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x100, '\x90')).build_id("\x11\x22");
  image.symbols(SHT_SYMTAB, {{"f", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x20}});
  write_image(path(), image.bytes());
  struct stat written{};
  ASSERT_EQ(::stat(path().c_str(), &written), 0);
  const std::int64_t mapped = written.st_mtim.tv_sec * std::int64_t{1'000'000'000} + written.st_mtim.tv_nsec;
  // A second name and another mode change the time that says when anything of the file changed.
  ASSERT_EQ(::link(path().c_str(), path("second").c_str()), 0);
  ASSERT_EQ(::chmod(path().c_str(), 0700), 0);
  EXPECT_TRUE(read_elf_functions(path(), {mapped, ""}).ok());
  EXPECT_FALSE(read_elf_functions(path(), {mapped - 1, ""}).ok()) << "it was written later";
  EXPECT_TRUE(read_elf_functions(path(), {mapped - 1, "1122"}).ok()) << "the build id proves more";
  EXPECT_EQ(os::elf_build_id(path()), "1122");
  const auto other = read_elf_functions(path(), {mapped, "1123"});
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().message, "the file is another one now");
}

TEST_F(ElfNames, AFileOfAnotherMachineNamesNothing) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x100, '\x90'));
  image.symbols(SHT_SYMTAB, {{"f", STB_GLOBAL, STT_FUNC, 1, 0x1000, 0x20}});
  write_image(path(), image.bytes());
  const auto for_machine = [&](const char* machine) {
    RecordedFile recorded;
    recorded.machine = machine;
    return read_elf_functions(path(), recorded);
  };
  EXPECT_TRUE(for_machine("").ok());
  EXPECT_TRUE(for_machine("x86_64").ok());
  EXPECT_FALSE(for_machine("aarch64").ok());
  EXPECT_FALSE(for_machine("armv7l").ok());
  EXPECT_FALSE(for_machine("s390x").ok());
  EXPECT_FALSE(for_machine("big-endian").ok());
}

TEST_F(ElfNames, WhatHasNoNameSaysWhy) {
  ElfImage<true> image;
  image.code(".text", 0x1000, std::string(0x100, '\x90'));
  write_image(path(), image.bytes());
  const StoredNames nothing_stored;
  Symbols symbols(nothing_stored);
  const std::uint64_t offset = sizeof(Elf64_Ehdr) + sizeof(Elf64_Phdr) + 0x10;
  EXPECT_EQ(symbols.function(path(), offset).why, "the file has no names of functions");
  EXPECT_EQ(symbols.function(path("nothing"), 0).why, "the file is gone");
  RecordedFile other;
  other.build_id = "aa";
  EXPECT_EQ(symbols.function(path(), offset, other).why, "the file is another one now");
}

}  // namespace
}  // namespace tailor::query
