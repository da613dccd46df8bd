// The rules that we read from the call frame information of the C library, against what elfutils reads.
#include <dlfcn.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <string>

#include "daemon/unwind/elf_cfi.h"
#include "proto/base/unique_fd.h"
#include "tests/unit/unwind/small_table.h"

namespace tailor::unwind {
namespace {

// rbx, rbp, r12 to r15 and the return address: what a caller may rely on.
constexpr std::array kKept = {3u, 6u, 12u, 13u, 14u, 15u, kReturnAddress};

// libdw calls undefined what no rule names, so that and what keeps its value are one word here.
constexpr const char* kNotSaved = "not saved";

std::string text(const CfiRule& rule) {
  using Kind = CfiRule::Kind;
  switch (rule.kind) {
    case Kind::kSame:
    case Kind::kUndefined:
      return kNotSaved;
    case Kind::kAtOffset:
      return fmt::format("[cfa{:+}]", rule.number);
    case Kind::kIsOffset:
      return fmt::format("cfa{:+}", rule.number);
    case Kind::kRegister:
      return fmt::format("r{}", rule.number);
    case Kind::kAtExpression:
      return fmt::format("[{:#x} ...]", static_cast<unsigned>(rule.expression[0]));
    case Kind::kIsExpression:
      return fmt::format("{:#x} ...", static_cast<unsigned>(rule.expression[0]));
  }
  return "?";
}

std::string ours(const CfiTable& table, std::uint64_t address) {
  const auto rules = table.rules_at(address);
  if (!rules) return "refused";
  std::string out = rules->cfa_expression.empty()
                        ? fmt::format("r{}{:+}", rules->cfa_register, rules->cfa_offset)
                        : fmt::format("{:#x} ...", static_cast<unsigned>(rules->cfa_expression[0]));
  for (unsigned reg : kKept) out += fmt::format(" {}:{}", reg, text(rules->registers[reg]));
  return out;
}

std::string their_register(Dwarf_Frame* frame, unsigned reg) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_register(frame, static_cast<int>(reg), memory, &ops, &count) != 0) return "refused";
  if (count == 0) return kNotSaved;
  if (ops[0].atom == DW_OP_regx) return fmt::format("r{}", ops[0].number);
  const bool value = ops[count - 1].atom == DW_OP_stack_value;
  if (value) --count;
  std::string where = "cfa+0";
  if (count == 2 && ops[1].atom == DW_OP_plus_uconst) {
    where = fmt::format("cfa{:+}", static_cast<std::int64_t>(ops[1].number));
  } else if (count > 1) {
    where = fmt::format("{:#x} ...", ops[1].atom);  // ops[0] pushes the CFA
  }
  return value ? where : "[" + where + "]";
}

std::string theirs(Dwarf_Frame* frame) {
  Dwarf_Op* ops = nullptr;
  std::size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) return "refused";
  std::string out = count == 1 && ops[0].atom == DW_OP_bregx
                        ? fmt::format("r{}{:+}", ops[0].number, static_cast<std::int64_t>(ops[0].number2))
                        : fmt::format("{:#x} ...", ops[0].atom);
  for (unsigned reg : kKept) out += fmt::format(" {}:{}", reg, their_register(frame, reg));
  return out;
}

struct Compared {
  std::size_t functions = 0, rows = 0, different = 0;
  std::string first;  // difference
};

// Both ends of every row of every function. `table` is of the file at `path`.
void compare(const std::string& path, const CfiTable& table, Compared& out) {
  elf_version(EV_CURRENT);
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  const std::unique_ptr<Elf, decltype(&elf_end)> elf(elf_begin(fd.get(), ELF_C_READ_MMAP, nullptr), elf_end);
  ASSERT_NE(elf, nullptr);
  const std::unique_ptr<Dwarf_CFI, decltype(&dwarf_cfi_end)> cfi(dwarf_getcfi_elf(elf.get()), dwarf_cfi_end);
  ASSERT_NE(cfi, nullptr);
  for (const CfiTable::Range& function : table.ranges()) {
    ++out.functions;
    for (std::uint64_t at = function.begin; at < function.end;) {
      Dwarf_Frame* found = nullptr;
      ASSERT_EQ(dwarf_cfi_addrframe(cfi.get(), at, &found), 0) << std::hex << at;
      const std::unique_ptr<Dwarf_Frame, decltype(&std::free)> frame(found, std::free);
      Dwarf_Addr begin = 0, end = 0;
      bool signal = false;
      ASSERT_GE(dwarf_frame_info(frame.get(), &begin, &end, &signal), 0);
      end = std::min<Dwarf_Addr>(end, function.end);
      ASSERT_GT(end, at);
      const std::string expected = theirs(frame.get());
      for (std::uint64_t address : {at, end - 1}) {
        ++out.rows;
        const std::string found_here = ours(table, address);
        if (found_here == expected) continue;
        if (out.different++ == 0) out.first = fmt::format("{:#x}: {} / {}", address, found_here, expected);
      }
      at = end;
    }
  }
}

std::string path_of_libc() {
  Dl_info info{};
  return ::dladdr(reinterpret_cast<void*>(&std::qsort), &info) != 0 ? info.dli_fname : "";
}

TEST(CfiOfLibc, EveryRowOfEveryFunctionIsAsElfutilsReadsIt) {
  const auto own = read_elf_cfi(path_of_libc());
  ASSERT_TRUE(own.ok()) << own.error().message;
  EXPECT_EQ(own->table.refused(), 0u);
  Compared compared;
  compare(path_of_libc(), own->table, compared);
  EXPECT_GT(compared.functions, 1000u);
  EXPECT_GT(compared.rows, 10 * compared.functions);
  EXPECT_EQ(compared.different, 0u) << compared.first;
}

// The twin that must differ: a table that was made by hand, as if it were that of a function of the library.
TEST(CfiOfLibc, AWrongTableIsFoundOut) {
  const auto own = read_elf_cfi(path_of_libc());
  ASSERT_TRUE(own.ok());
  const auto functions = own->table.ranges();
  const auto large = std::ranges::find_if(functions, [](const auto& f) { return f.end - f.begin >= 0x400; });
  ASSERT_NE(large, functions.end());
  Compared compared;
  compare(path_of_libc(), CfiTable::parse(test::small_table(large->begin), test::kTable), compared);
  EXPECT_EQ(compared.functions, 1u);
  EXPECT_GT(compared.different, 0u);
}

}  // namespace
}  // namespace tailor::unwind
