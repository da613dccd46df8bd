#include "daemon/enrich/operand.h"

#include <asm/perf_regs.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <map>
#include <random>
#include <vector>

namespace tailor::enrich {
namespace {

constexpr std::uint64_t kBase = 0x10000;

// Machine code in pieces, one an instruction.
struct Code {
  std::vector<std::byte> bytes;
  std::vector<std::uint32_t> at;  // offset of each instruction

  Code(std::initializer_list<std::vector<int>> instructions) {
    for (const auto& instruction : instructions) {
      at.push_back(static_cast<std::uint32_t>(bytes.size()));
      for (int byte : instruction) bytes.push_back(static_cast<std::byte>(byte));
    }
  }
};

struct Values {
  std::uint32_t mask = 0;
  std::vector<std::uint64_t> words;

  explicit Values(const std::map<unsigned, std::uint64_t>& by_number) {
    for (const auto& [number, value] : by_number) {
      mask |= 1u << number;
      words.push_back(value);
    }
  }
  Registers view() const { return {mask, words}; }
};

std::optional<Operand> operand(const Code& code, std::size_t instruction, const Values& values) {
  return CodeReader(code.bytes).operand_at(kBase, code.at[instruction], values.view());
}

const Values kSome({{PERF_REG_X86_AX, 0x1000},
                    {PERF_REG_X86_BX, 0x2000},
                    {PERF_REG_X86_CX, 8},
                    {PERF_REG_X86_SP, 0x7000},
                    {PERF_REG_X86_R9, 0x9000}});

TEST(Operand, IsThatOfTheInstructionBefore) {
  // cmp [rbx+rcx*8+16], rax; sete dl
  const Code code = {{0x48, 0x39, 0x44, 0xCB, 0x10}, {0x0F, 0x94, 0xC2}};
  const auto found = operand(code, 1, kSome);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, 0x2000u + 8 * 8 + 16);
  EXPECT_EQ(found->skid, 1);
}

TEST(Operand, ConstantStepsAreUndone) {
  // mov rdx, [rbx]; add rbx, 8; dec rax; nop
  const Code code = {{0x48, 0x8B, 0x13}, {0x48, 0x83, 0xC3, 0x08}, {0x48, 0xFF, 0xC8}, {0x90}};
  const auto found = operand(code, 3, kSome);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, 0x2000u - 8);
  EXPECT_EQ(found->skid, 3);
}

TEST(Operand, OneWhoseRegisterWasOverwrittenIsLost) {
  // mov rbx, [rbx]; nop
  const Code chase = {{0x48, 0x8B, 0x1B}, {0x90}};
  EXPECT_FALSE(operand(chase, 1, kSome));
  // mov rdx, [rbx]; mov rbx, rax; nop: not what rbx is now
  const Code copied = {{0x48, 0x8B, 0x13}, {0x48, 0x89, 0xC3}, {0x90}};
  EXPECT_FALSE(operand(copied, 2, kSome));
  // mov rdx, [rbx]; mov bl, 1; nop: a part is enough
  const Code part = {{0x48, 0x8B, 0x13}, {0xB3, 0x01}, {0x90}};
  EXPECT_FALSE(operand(part, 2, kSome));
}

// Not the address of an older access, nor of one that is still to come.
TEST(Operand, ALostOneIsReplacedByNoOther) {
  // mov rdx, [r9]; mov rbx, [rbx]; nop
  const Code older = {{0x49, 0x8B, 0x11}, {0x48, 0x8B, 0x1B}, {0x90}};
  EXPECT_FALSE(operand(older, 2, kSome));
  // mov rbx, [rbx]; mov rdx, [rbx+r9]
  const Code next = {{0x48, 0x8B, 0x1B}, {0x4A, 0x8B, 0x14, 0x0B}};
  EXPECT_FALSE(operand(next, 1, kSome));
}

TEST(Operand, AnotherRegisterMayHoldWhatWasOverwritten) {
  // mov rax, rbx; mov rbx, [rbx]; nop
  const Code copied = {{0x48, 0x89, 0xD8}, {0x48, 0x8B, 0x1B}, {0x90}};
  EXPECT_FALSE(operand(copied, 2, kSome)) << "rax is only made known before the access";
  // mov rdx, [rbx]; lea rax, [rbx+16]; mov rbx, rcx; nop
  const Code moved = {{0x48, 0x8B, 0x13}, {0x48, 0x8D, 0x43, 0x10}, {0x48, 0x89, 0xCB}, {0x90}};
  EXPECT_EQ(operand(moved, 3, kSome)->address, 0x1000u - 16);
  // mov rdx, [rbx]; add rbx, rcx; nop
  const Code added = {{0x48, 0x8B, 0x13}, {0x48, 0x01, 0xCB}, {0x90}};
  EXPECT_EQ(operand(added, 2, kSome)->address, 0x2000u - 8);
  // mov rdx, [rbx]; add rbx, rbx; nop
  const Code doubled = {{0x48, 0x8B, 0x13}, {0x48, 0x01, 0xDB}, {0x90}};
  EXPECT_FALSE(operand(doubled, 2, kSome));
}

TEST(Operand, PushAndPopAccessTheStack) {
  // push rax; nop
  EXPECT_EQ(operand({{0x50}, {0x90}}, 1, kSome)->address, 0x7000u);
  // pop rax; nop
  EXPECT_EQ(operand({{0x58}, {0x90}}, 1, kSome)->address, 0x7000u - 8);
  // mov rdx, [rsp+8]; pushfq has an access that is not followed
  EXPECT_FALSE(operand({{0x48, 0x8B, 0x54, 0x24, 0x08}, {0x9C}, {0x90}}, 2, kSome));
  // push [rbx]; nop: what is read, not the stack
  EXPECT_EQ(operand({{0xFF, 0x33}, {0x90}}, 1, kSome)->address, 0x2000u);
  // pop rsp; nop
  EXPECT_FALSE(operand({{0x5C}, {0x90}}, 1, kSome));
}

TEST(Operand, OneOfSeveralAccessesIsLost) {
  // mov rdx, [rbx]; rep movsq; nop: behind it, and in its midst
  const Code copy = {{0x48, 0x8B, 0x13}, {0xF3, 0x48, 0xA5}, {0x90}};
  EXPECT_FALSE(operand(copy, 2, kSome));
  EXPECT_FALSE(operand(copy, 1, kSome));
  // mov rdx, [rbx]; vpgatherdd ymm0, [rax+ymm1*4], ymm2; nop
  const Code gather = {{0x48, 0x8B, 0x13}, {0xC4, 0xE2, 0x6D, 0x90, 0x04, 0x88}, {0x90}};
  EXPECT_FALSE(operand(gather, 2, kSome));
  EXPECT_FALSE(operand(gather, 1, kSome));
}

TEST(Operand, SeveralWaysMayLeadToAFunctionAndToAllThatATableMayName) {
  // int3; mov rdx, [rbx]; nop; jmp -6 (to the mov): entered by a jump only
  const Code loop = {{0xCC}, {0x90}, {0x48, 0x8B, 0x13}, {0xEB, 0xFA}};
  EXPECT_EQ(operand(loop, 1, kSome)->address, 0x2000u);
  // The same with a jump through a register elsewhere in the code.
  const Code table = {{0xFF, 0xE0}, {0x90}, {0x48, 0x8B, 0x13}, {0xEB, 0xFA}};
  EXPECT_FALSE(operand(table, 1, kSome));
  // And with a call of it.
  const Code called = {{0xE8, 1, 0, 0, 0}, {0xCC}, {0x90}, {0x48, 0x8B, 0x13}, {0xEB, 0xFA}};
  EXPECT_FALSE(operand(called, 2, kSome));
}

TEST(Operand, TheOnlyWayBackMayBeAJump) {
  // mov rdx, [rbx]; jmp +1; int3; nop
  const Code jumped = {{0x48, 0x8B, 0x13}, {0xEB, 0x01}, {0xCC}, {0x90}};
  const auto found = operand(jumped, 3, kSome);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->address, 0x2000u);
  EXPECT_EQ(found->skid, 2);
  // test; je +3 (to the nop); mov rdx, [rbx]; nop: two ways
  const Code joined = {{0x48, 0x85, 0xC0}, {0x74, 0x03}, {0x48, 0x8B, 0x13}, {0x90}};
  EXPECT_FALSE(operand(joined, 3, kSome));
}

TEST(Operand, NoWayBackThroughACallOrPastTheEnd) {
  // mov rdx, [rbx]; call 0; nop
  const Code called = {{0x48, 0x8B, 0x13}, {0xE8, 0, 0, 0, 0}, {0x90}};
  EXPECT_FALSE(operand(called, 2, kSome));
  // mov rdx, [rbx]; ret; nop
  const Code returned = {{0x48, 0x8B, 0x13}, {0xC3}, {0x90}};
  EXPECT_FALSE(operand(returned, 2, kSome));
}

TEST(Operand, LeaAndNopAccessNothing) {
  // lea rdx, [rbx+8]; nop word [rax]; nop
  const Code code = {{0x48, 0x8D, 0x53, 0x08}, {0x66, 0x0F, 0x1F, 0x00}, {0x90}};
  EXPECT_FALSE(operand(code, 2, kSome));
}

TEST(Operand, TheStackCountsAsAllElse) {
  // mov rdx, [rbx]; mov rax, [rsp+8]; nop
  const Code both = {{0x48, 0x8B, 0x13}, {0x48, 0x8B, 0x44, 0x24, 0x08}, {0x90}};
  EXPECT_EQ(operand(both, 2, kSome)->address, 0x7008u);
}

TEST(Operand, RelativeToTheInstructionAndWithoutRegisters) {
  // mov rax, [rip+0x100]; nop
  const Code code = {{0x48, 0x8B, 0x05, 0x00, 0x01, 0x00, 0x00}, {0x90}};
  EXPECT_EQ(operand(code, 1, Values({}))->address, kBase + 7 + 0x100);
  // mov rax, fs:[0x28]: where fs leads is not in a sample
  const Code segment = {{0x64, 0x48, 0x8B, 0x04, 0x25, 0x28, 0, 0, 0}, {0x90}};
  EXPECT_FALSE(operand(segment, 1, kSome));
}

TEST(Operand, RegistersThatWereNotSampledAreUnknown) {
  const Code code = {{0x48, 0x8B, 0x13}, {0x90}};
  EXPECT_FALSE(operand(code, 1, Values({{PERF_REG_X86_AX, 1}})));
  // A mask that promises more than there is.
  const std::vector<std::uint64_t> one = {1};
  EXPECT_FALSE(CodeReader(code.bytes).operand_at(kBase, 3, {0xFF, one}));
}

TEST(Operand, AnOffsetInsideAnInstructionHasNone) {
  const Code code = {{0x48, 0x8B, 0x13}, {0x90}};
  EXPECT_FALSE(CodeReader(code.bytes).operand_at(kBase, 1, kSome.view()));
  EXPECT_FALSE(CodeReader(code.bytes).operand_at(kBase, 100, kSome.view()));
  EXPECT_FALSE(CodeReader({}).operand_at(kBase, 0, kSome.view()));
}

// The engine's bytes are not trusted.
TEST(Operand, AnyBytesAreSurvived) {
  std::mt19937 random(4);
  for (int round = 0; round < 300; ++round) {
    std::vector<std::byte> bytes(random() % 300);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    const CodeReader reader(bytes);
    for (std::uint32_t offset = 0; offset < bytes.size() + 5; ++offset) {
      (void)reader.operand_at(kBase, offset, kSome.view());
    }
  }
}

}  // namespace
}  // namespace tailor::enrich
