#include "daemon/capture/decode/kernel_symbols.h"

#include <gtest/gtest.h>

namespace tailor::capture {
namespace {

TEST(BpfFunctions, EndWhereTheNextSymbolBeginsAndWithTheirPage) {
  const auto functions = bpf_functions(
      "ffffffff81000000 T _text\n"
      "ffffffffc0000040 t bpf_prog_2_two\t[bpf]\n"
      "ffffffffc0000000 t bpf_prog_1_one\t[bpf]\n"
      "ffffffffc0000100 t mod_fn\t[ext4]\n"
      "ffffffffc0001800 t bpf_trampoline_3\t[bpf]\n"
      "ffffffffc0009000 t __insn\t[__builtin__kprobes]\n"
      "fffffffffffffff0 t bpf_prog_4_last\t[bpf]\n"
      "nonsense\t[bpf]\n"
      "0000000000000000 t bpf_prog_5_hidden\t[bpf]\n");
  ASSERT_EQ(functions.size(), 4u);
  EXPECT_EQ(functions[0].name, "bpf_prog_2_two");
  EXPECT_EQ(functions[0].address, 0xffffffffc0000040);
  EXPECT_EQ(functions[0].size, 0xc0u) << "a module begins";
  EXPECT_EQ(functions[1].name, "bpf_prog_1_one");
  EXPECT_EQ(functions[1].size, 0x40u);
  EXPECT_EQ(functions[2].name, "bpf_trampoline_3");
  EXPECT_EQ(functions[2].size, 0x800u) << "its page ends";
  EXPECT_EQ(functions[3].size, 0x10u);
}

TEST(BpfFunctions, NoneWithoutAny) {
  EXPECT_TRUE(bpf_functions("").empty());
  EXPECT_TRUE(bpf_functions("\n[bpf]\n\t[bpf]\nffffffffc0000000 t [bpf]\n").empty());
}

}  // namespace
}  // namespace tailor::capture
