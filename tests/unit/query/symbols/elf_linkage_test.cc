// Entries of linkage tables as the linkers write them, each by a file that is made for it.
#include "daemon/query/symbols/elf_linkage.h"

#include <elf.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "daemon/query/symbols/elf_functions.h"
#include "tests/unit/query/symbols/elf_image.h"

namespace tailor::query {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

// How an entry says which slot it reads: from its own end, by an address, from the register of the table.
enum class Reads { kRelative, kAbsolute, kFromGot };

// The code of an entry. Where in it the place of its slot stands, and where the number that it gives the
// loader (0: none).
struct Form {
  std::string code;
  std::size_t slot_at = 0;
  Reads reads = Reads::kRelative;
  std::size_t number_at = 0;
};

struct Table {
  std::string name;  // of its section
  std::string head;
  Form form;
};

// A file of one machine whose tables have an entry for each slot, in order.
template <bool kWide>
class Linked {
 public:
  using Relocation = std::conditional_t<kWide, Elf64_Rela, Elf32_Rel>;
  static constexpr std::uint64_t kTable = 0x1000, kGot = 0x4000, kWord = kWide ? 8 : 4;

  // Names of the functions that the slots lead to; "": of a function of its own, which has no symbol.
  explicit Linked(std::vector<std::string> functions = {"f0", "f1", "f2"})
      : functions_(std::move(functions)) {}

  ElfImage<kWide> image(const std::vector<Table>& tables) const {
    ElfImage<kWide> out;
    std::uint64_t address = kTable;
    for (const Table& table : tables) {
      out.code(table.name, address, code_of(table, address));
      address += kTable;
    }
    out.add({".got.plt", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, kGot, std::string(64, '\0'), 0});
    const std::uint32_t symbols_at = out.count() + 1;
    std::vector<ImageSymbol> symbols;
    for (const std::string& name : functions_)
      symbols.push_back({name, STB_GLOBAL, STT_FUNC, SHN_UNDEF, 0, 0});
    out.symbols(SHT_DYNSYM, symbols);
    std::string relocations;
    for (std::size_t i = 0; i < functions_.size(); ++i) ElfImage<kWide>::append(relocations, relocation(i));
    out.add({kWide ? ".rela.plt" : ".rel.plt", kWide ? SHT_RELA : SHT_REL, 0, 0, relocations, symbols_at});
    return out;
  }

 private:
  // Behind the three words that belong to the loader.
  static std::uint64_t slot(std::size_t i) { return kGot + kWord * (3 + i); }

  Relocation relocation(std::size_t i) const {
    const bool own = functions_[i].empty();
    Relocation out{};
    out.r_offset = static_cast<decltype(out.r_offset)>(slot(i));
    const auto symbol = static_cast<std::uint32_t>(own ? 0 : i + 1);
    if constexpr (kWide) {
      out.r_info = ELF64_R_INFO(std::uint64_t{symbol}, own ? R_X86_64_IRELATIVE : R_X86_64_JUMP_SLOT);
    } else {
      out.r_info = ELF32_R_INFO(symbol, static_cast<std::uint32_t>(own ? R_386_IRELATIVE : R_386_JMP_SLOT));
    }
    return out;
  }

  std::string code_of(const Table& table, std::uint64_t address) const {
    std::string out = table.head;
    for (std::size_t i = 0; i < functions_.size(); ++i) {
      const std::size_t begin = out.size();
      const Form& form = table.form;
      out += form.code;
      const std::uint64_t end_of_place = address + begin + form.slot_at + 4;
      const std::uint64_t from = form.reads == Reads::kRelative  ? end_of_place
                                 : form.reads == Reads::kFromGot ? kGot
                                                                 : 0;
      if (form.slot_at != 0) put(out, begin + form.slot_at, slot(i) - from);
      // The number of the relocation, or where it lies in its table.
      if (form.number_at != 0) put(out, begin + form.number_at, kWide ? i : i * sizeof(Elf32_Rel));
    }
    return out;
  }

  static void put(std::string& to, std::size_t at, std::uint64_t value) {
    const auto low = static_cast<std::uint32_t>(value);
    std::memcpy(&to[at], &low, sizeof low);
  }

  std::vector<std::string> functions_;
};

class LinkageOfLinkers : public testing::Test {
 protected:
  LinkageOfLinkers() { fs::create_directories(folder_); }
  ~LinkageOfLinkers() override { fs::remove_all(folder_); }

  // "name begin-end", in hexadecimal.
  template <bool kWide>
  std::string named(const Linked<kWide>& file, const std::vector<Table>& tables) const {
    const std::string path = (folder_ / "file").string();
    write_image(path, file.image(tables).bytes());
    const auto read = read_elf_functions(path, {}, (folder_ / "root").string());
    EXPECT_TRUE(read.ok()) << read.error().message;
    std::string out;
    if (!read.ok()) return out;
    for (const ElfFunction& each : read->functions)
      out += fmt::format("{} {:x}-{:x}\n", each.name, each.begin, each.end);
    return out;
  }
  std::string wide(const std::vector<Table>& tables) const { return named(Linked<true>(), tables); }
  std::string small(const std::vector<Table>& tables) const { return named(Linked<false>(), tables); }

  fs::path folder_ = fs::path(testing::TempDir()) / ("elf_linkage_" + std::to_string(::getpid()));
};

const std::string kZeros(4, '\0');
// push GOT+8, jmp *GOT+16, a nop.
const std::string kHead = "\xff\x35\x00\x10\x00\x00\xff\x25\x00\x10\x00\x00\x0f\x1f\x40\x00"s;
// jmp *slot, push number, jmp head.
const Form kLazy{"\xff\x25"s + kZeros + "\x68" + kZeros + "\xe9" + kZeros, 2, Reads::kRelative, 7};
constexpr const char* kAfterAHead = "f0@plt 1010-1020\nf1@plt 1020-1030\nf2@plt 1030-1040\n";
constexpr const char* kInSecondTable = "f0@plt 2000-2010\nf1@plt 2010-2020\nf2@plt 2020-2030\n";

// Code goes through .plt.sec. The entries of .plt, which only give a number, run once.
TEST_F(LinkageOfLinkers, BfdWithBranchTracking) {
  const std::string head = "\xff\x35\x00\x10\x00\x00\xf2\xff\x25\x00\x10\x00\x00\x0f\x1f\x00"s;
  const Form lazy{"\xf3\x0f\x1e\xfa\x68"s + kZeros + "\xf2\xe9" + kZeros + "\x90", 0, Reads::kRelative, 5};
  const Form second{"\xf3\x0f\x1e\xfa\xf2\xff\x25"s + kZeros + "\x0f\x1f\x44\x00\x00"s, 7};
  EXPECT_EQ(wide({{".plt", head, lazy}, {".plt.sec", "", second}}),
            std::string(kAfterAHead) + kInSecondTable);
}

// bfd since 2.41 writes the same.
TEST_F(LinkageOfLinkers, LldWithBranchTracking) {
  const Form lazy{"\xf3\x0f\x1e\xfa\x68"s + kZeros + "\xe9" + kZeros + "\x66\x90", 0, Reads::kRelative, 5};
  const Form second{"\xf3\x0f\x1e\xfa\xff\x25"s + kZeros + "\x66\x0f\x1f\x44\x00\x00"s, 6};
  EXPECT_EQ(wide({{".plt", kHead, lazy}, {".plt.sec", "", second}}),
            std::string(kAfterAHead) + kInSecondTable);
}

TEST_F(LinkageOfLinkers, GoldAndLld) {
  EXPECT_EQ(wide({{".plt", kHead, kLazy}}), kAfterAHead);
}

// Functions whose address is taken too have their entries in a table of their own, without numbers.
TEST_F(LinkageOfLinkers, BfdWithoutNumbers) {
  EXPECT_EQ(wide({{".plt.got", "", {"\xff\x25"s + kZeros + "\x66\x90", 2}}}),
            "f0@plt 1000-1008\nf1@plt 1008-1010\nf2@plt 1010-1018\n");
}

// -z retpolineplt -z now.
TEST_F(LinkageOfLinkers, LldWithRetpolinesThatAreBoundAtOnce) {
  const std::string head = "\xe8\x0b\x00\x00\x00\xf3\x90\x0f\xae\xe8\xeb\xf9\xcc\xcc\xcc\xcc"s +
                           "\x4c\x89\x1c\x24\xc3"s + std::string(11, '\xcc');
  const Form form{"\x4c\x8b\x1d"s + kZeros + "\xe9" + kZeros + "\xcc\xcc\xcc\xcc", 3};
  EXPECT_EQ(wide({{".plt", head, form}}), "f0@plt 1020-1030\nf1@plt 1030-1040\nf2@plt 1040-1050\n");
}

// Programs of 32 bits that lie at fixed addresses: bfd, gold and lld.
TEST_F(LinkageOfLinkers, OfI386AtFixedAddresses) {
  const std::string head = "\xff\x35\x04\x40\x00\x00\xff\x25\x08\x40\x00\x00\x00\x00\x00\x00"s;
  const Form form{"\xff\x25"s + kZeros + "\x68" + kZeros + "\xe9" + kZeros, 2, Reads::kAbsolute, 7};
  EXPECT_EQ(small({{".plt", head, form}}), kAfterAHead);
}

// Code that can lie anywhere has the global offset table in ebx.
TEST_F(LinkageOfLinkers, OfI386Anywhere) {
  const std::string head = "\xff\xb3\x04\x00\x00\x00\xff\xa3\x08\x00\x00\x00\x90\x90\x90\x90"s;
  const Form form{"\xff\xa3"s + kZeros + "\x68" + kZeros + "\xe9" + kZeros, 2, Reads::kFromGot, 7};
  EXPECT_EQ(small({{".plt", head, form}}), kAfterAHead);
}

TEST_F(LinkageOfLinkers, OfI386WithBranchTracking) {
  const std::string head = "\xff\xb3\x04\x00\x00\x00\xff\xa3\x08\x00\x00\x00\x0f\x1f\x40\x00"s;
  const Form lazy{"\xf3\x0f\x1e\xfb\x68"s + kZeros + "\xe9" + kZeros + "\x66\x90", 0, Reads::kFromGot, 5};
  const Form second{"\xf3\x0f\x1e\xfb\xff\xa3"s + kZeros + "\x66\x0f\x1f\x44\x00\x00"s, 6, Reads::kFromGot};
  EXPECT_EQ(small({{".plt", head, lazy}, {".plt.sec", "", second}}),
            std::string(kAfterAHead) + kInSecondTable);
}

// The numbers of i386 are places in a table: taken for numbers they would lead to none.
TEST_F(LinkageOfLinkers, OfI386NumbersAloneNameTheirOwnFunction) {
  const Form form{"\x68"s + kZeros + "\xe9" + kZeros + std::string(6, '\x90'), 0, Reads::kAbsolute, 1};
  EXPECT_EQ(small({{".plt", std::string(16, '\x90'), form}}), kAfterAHead);
}

// An entry of a function of the file itself has no symbol. It is no part of the one before it.
TEST_F(LinkageOfLinkers, AnEntryWithoutANameIsNobodyElses) {
  EXPECT_EQ(named(Linked<true>({"f0", "", "f2", "f3"}), {{".plt", kHead, kLazy}}),
            "f0@plt 1010-1020\nf2@plt 1030-1040\nf3@plt 1040-1050\n");
  // Nor where no two entries with names lie side by side.
  EXPECT_EQ(named(Linked<true>({"f0", "", "f2"}), {{".plt", kHead, kLazy}}),
            "f0@plt 1010-1020\nf2@plt 1030-1040\n");
  EXPECT_EQ(
      named(Linked<false>({"f0", "", "", "f3"}),
            {{".plt",
              std::string(16, '\x90'),
              {"\x68"s + kZeros + "\xe9" + kZeros + "\x90\x90\x90\x90\x90\x90", 0, Reads::kAbsolute, 1}}}),
      "f0@plt 1010-1020\nf3@plt 1040-1050\n");
}

// memcpy of two versions.
TEST_F(LinkageOfLinkers, TwoFunctionsOfOneNameHaveAnEntryEach) {
  EXPECT_EQ(named(Linked<true>({"f", "f", "g"}), {{".plt", kHead, kLazy}}),
            "f@plt 1010-1020\nf@plt 1020-1030\ng@plt 1030-1040\n");
}

}  // namespace
}  // namespace tailor::query
