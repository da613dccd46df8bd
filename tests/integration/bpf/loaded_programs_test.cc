// What the kernel is asked of its programs says what its symbol table says of them, and their lengths beside.
#include "daemon/bpf/loaded_programs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>

#include "daemon/capture/decode/kernel_symbols.h"
#include "proto/base/unique_fd.h"
#include "tests/support/host_allows.h"

namespace tailor::bpf {
namespace {

using capture::KernelFunction;

UniqueFd load(const char* name, std::span<const bpf_insn> code) {
  bpf_attr attr;
  std::memset(&attr, 0, sizeof attr);
  attr.prog_type = BPF_PROG_TYPE_SOCKET_FILTER;
  attr.insn_cnt = static_cast<std::uint32_t>(code.size());
  attr.insns = reinterpret_cast<std::uint64_t>(code.data());
  attr.license = reinterpret_cast<std::uint64_t>("GPL");
  std::strncpy(attr.prog_name, name, sizeof attr.prog_name - 1);
  return UniqueFd(static_cast<int>(::syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof attr)));
}

// Of programs of this test alone: others come and go meanwhile.
std::map<std::uint64_t, KernelFunction> in_kallsyms() {
  std::ifstream file("/proc/kallsyms", std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  std::map<std::uint64_t, KernelFunction> found;
  for (KernelFunction& each : capture::bpf_functions(text.view())) found[each.address] = std::move(each);
  return found;
}

std::vector<KernelFunction> named(const std::vector<KernelFunction>& all, std::string_view part) {
  std::vector<KernelFunction> found;
  for (const KernelFunction& each : all)
    if (each.name.ends_with(part)) found.push_back(each);
  return found;
}

class LoadedOnHost : public testing::Test {
 protected:
  void SetUp() override {
    if (std::string why = test::bpf_denied(); !why.empty()) GTEST_SKIP() << why;
    // A call of the second function, which returns 1.
    const std::array<bpf_insn, 4> code = {{{BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1},
                                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0},
                                           {BPF_ALU64 | BPF_MOV | BPF_K, 0, 0, 0, 1},
                                           {BPF_JMP | BPF_EXIT, 0, 0, 0, 0}}};
    program_ = load("tailor_parts", code);
    ASSERT_TRUE(program_);
    listed_ = in_kallsyms();
    if (listed_.empty()) GTEST_SKIP() << "the kernel shows no programs here: interpreted, or hidden";
  }
  UniqueFd program_;
  std::map<std::uint64_t, KernelFunction> listed_;
};

TEST_F(LoadedOnHost, NamesAreThoseOfTheSymbolTable) {
  const auto loaded = loaded_programs(os::real());
  ASSERT_TRUE(loaded);
  const auto own = named(loaded->functions, "_tailor_parts");
  ASSERT_EQ(own.size(), 1u);
  const auto beside = std::ranges::find_if(loaded->functions, [&](const KernelFunction& each) {
    return each.address > own[0].address && each.address - own[0].address < 4096 && each.name.ends_with("_F");
  });
  ASSERT_NE(beside, loaded->functions.end());
  for (const KernelFunction& each : {own[0], *beside}) {
    ASSERT_TRUE(listed_.contains(each.address)) << each.name;
    const KernelFunction& listed = listed_.at(each.address);
    EXPECT_EQ(each.name, listed.name);
    EXPECT_GT(each.size, 0u);
    EXPECT_LE(each.size, listed.size) << "it ends before the next one begins";
  }
}

TEST_F(LoadedOnHost, AProgramThatIsGoneIsNotThere) {
  program_.reset();
  // The kernel takes it away in its own time.
  bool there = true;
  for (int i = 0; i < 3000 && there; ++i) {
    const auto loaded = loaded_programs(os::real());
    ASSERT_TRUE(loaded);
    there = !named(loaded->functions, "_tailor_parts").empty();
    if (there) ::usleep(20'000);
  }
  EXPECT_FALSE(there);
}

}  // namespace
}  // namespace tailor::bpf
