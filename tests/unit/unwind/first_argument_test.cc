#include "daemon/unwind/first_argument.h"

#include <gtest/gtest.h>

#include <cstring>

// Functions as compilers make them. Labels name the instructions that are asked about.
asm(R"(
  .text
in_register:
  push %rbx
  mov %rdi, %rbx
  call in_register
in_register_after:
  mov %rbx, %rdi
  call *0x18(%rbx)
in_register_method:
  mov (%rbx), %rdi
  mov %rbx, %rax
  call *0x18(%rax)
in_register_no_method:
  xor %ebx, %ebx
  call in_register
in_register_lost:
  pop %rbx
  ret
in_register_end:

in_frame:
  push %rbp
  mov %rsp, %rbp
  sub $32, %rsp
  mov %rdi, -8(%rbp)
  call in_frame
in_frame_after:
  mov -8(%rbp), %rax
in_frame_loaded:
  movl $1, -4(%rbp)
in_frame_overwritten:
  leave
  ret
in_frame_end:

by_stack_pointer:
  sub $24, %rsp
  mov %rdi, 8(%rsp)
  push %rsi
  call in_frame
by_stack_pointer_after:
  pop %rsi
  add $24, %rsp
  ret
by_stack_pointer_end:

two_ways:
  push %rbx
  mov %rdi, %rbx
  test %esi, %esi
  je two_ways_meet
  mov %rsi, %rbx
two_ways_other:
  nop
two_ways_meet:
  nop
  pop %rbx
  ret
two_ways_end:

switched:
  push %rbx
  mov %rdi, %rbx
  cmp $1, %esi
  ja switched_end_of_it
  mov %esi, %esi
  lea switched_table(%rip), %rdx
  movslq (%rdx, %rsi, 4), %rax
  add %rdx, %rax
  jmp *%rax
switched_first:
  xor %ebx, %ebx
  jmp switched_end_of_it
switched_second:
  call in_frame
switched_second_after:
  nop
switched_end_of_it:
  pop %rbx
  ret
switched_end:

anywhere:
  push %rbx
  mov %rdi, %rbx
  test %esi, %esi
  je anywhere_jump
  call in_frame
anywhere_after:
  pop %rbx
  ret
anywhere_jump:
  xor %ebx, %ebx
  jmp *%rsi
anywhere_end:

jumps_away:
  push %rbx
  mov %rdi, %rbx
  sub $16, %rsp
  mov %rsi, 8(%rsp)
  call in_frame
jumps_away_after:
  test %eax, %eax
  je jumps_away_returns
  mov 8(%rsp), %rax
  xor %edi, %edi
  add $16, %rsp
  pop %rbx
  jmp *%rax
  nopl (%rax)
jumps_away_returns:
  mov %rbx, %rax
  add $16, %rsp
  pop %rbx
  ret
jumps_away_end:

without_frame:
  test %esi, %esi
  je without_frame_other
  xor %edi, %edi
  jmp *%rax
without_frame_other:
  push %rbx
without_frame_pushed:
  pop %rbx
  ret
without_frame_end:

  .section .rodata
  .balign 4
switched_table:
  .long switched_first - switched_table
  .long switched_second - switched_table
  .long switched - switched_table
  .text
)");
#define LABEL(name) extern "C" const char name[]  // NOLINT(bugprone-macro-parentheses)
LABEL(in_register);
LABEL(in_register_after);
LABEL(in_register_method);
LABEL(in_register_no_method);
LABEL(in_register_lost);
LABEL(in_register_end);
LABEL(in_frame);
LABEL(in_frame_after);
LABEL(in_frame_loaded);
LABEL(in_frame_overwritten);
LABEL(in_frame_end);
LABEL(by_stack_pointer);
LABEL(by_stack_pointer_after);
LABEL(by_stack_pointer_end);
LABEL(two_ways);
LABEL(two_ways_other);
LABEL(two_ways_meet);
LABEL(two_ways_end);
LABEL(switched);
LABEL(switched_second);
LABEL(switched_second_after);
LABEL(switched_end_of_it);
LABEL(switched_end);
LABEL(anywhere);
LABEL(anywhere_after);
LABEL(anywhere_end);
LABEL(jumps_away);
LABEL(jumps_away_after);
LABEL(jumps_away_returns);
LABEL(jumps_away_end);
LABEL(without_frame);
LABEL(without_frame_other);
LABEL(without_frame_pushed);
LABEL(without_frame_end);

namespace tailor::unwind {
namespace {

constexpr std::uint32_t kAx = 1 << 0, kBx = 1 << 3, kDi = 1 << 5;

std::uint64_t address(const char* label) {
  return reinterpret_cast<std::uint64_t>(label);
}

FirstArgument find(const char* begin, const char* end) {
  return FirstArgument::find(std::as_bytes(std::span(begin, end)), address(begin), [](std::uint64_t at) {
    std::int32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const void*>(at), sizeof word);
    return std::optional(word);
  });
}

TEST(FirstArgument, IsFollowedIntoARegisterThatCallsKeep) {
  const FirstArgument found = find(in_register, in_register_end);
  EXPECT_EQ(found.at(address(in_register)).registers, kDi);
  EXPECT_EQ(found.at(address(in_register_after)).registers, kBx) << "a call may change rdi";
  EXPECT_EQ(found.during_call(address(in_register_after)).registers, kBx);
  EXPECT_EQ(found.during_call(address(in_register_method)).registers, kBx);
  EXPECT_TRUE(found.during_call(address(in_register_lost)).none());
  EXPECT_TRUE(found.at(address(in_register_lost)).none());
  EXPECT_TRUE(found.at(address(in_register) + 2).none()) << "no instruction begins there";
  EXPECT_TRUE(found.during_call(address(in_register) + 1).none()) << "no call returns there";
}

TEST(FirstArgument, MethodsAreCalledThroughAWordOfTheirObject) {
  const FirstArgument found = find(in_register, in_register_end);
  const auto call = found.call_before(address(in_register_method));
  ASSERT_TRUE(call.has_value());
  EXPECT_EQ(call->method, 0x18);
  EXPECT_LT(found.call_before(address(in_register_no_method))->method, 0) << "rdi is another object";
  EXPECT_LT(found.call_before(address(in_register_after))->method, 0);
  EXPECT_FALSE(found.call_before(address(in_register)).has_value());
}

TEST(FirstArgument, IsFollowedIntoTheFrame) {
  const FirstArgument found = find(in_frame, in_frame_end);
  const Places during = found.during_call(address(in_frame_after));
  EXPECT_EQ(during.registers, 0u);
  ASSERT_EQ(during.slots, 1);
  EXPECT_EQ(during.offsets[0], -24) << "rbp is 16 below the CFA";
  EXPECT_EQ(found.at(address(in_frame_loaded)).registers, kAx);
  const Places overwritten = found.at(address(in_frame_overwritten));
  EXPECT_EQ(overwritten.slots, 0) << "half of the word is another's now";
  EXPECT_EQ(overwritten.registers, kAx);
  const FirstArgument other = find(by_stack_pointer, by_stack_pointer_end);
  const Places places = other.during_call(address(by_stack_pointer_after));
  ASSERT_EQ(places.slots, 1);
  EXPECT_EQ(places.offsets[0], -24);
}

TEST(FirstArgument, HoldsOnEveryWay) {
  const FirstArgument found = find(two_ways, two_ways_end);
  EXPECT_EQ(found.at(address(two_ways_other)).registers, kDi);
  EXPECT_EQ(found.at(address(two_ways_meet)).registers, kDi) << "rbx holds it on one way only";
}

TEST(FirstArgument, FollowsTheTablesOfSwitches) {
  const FirstArgument found = find(switched, switched_end);
  EXPECT_EQ(found.at(address(switched)).registers, kDi) << "what follows the table is not its";
  EXPECT_EQ(found.at(address(switched_second)).registers, kBx | kDi);
  EXPECT_EQ(found.during_call(address(switched_second_after)).registers, kBx);
  EXPECT_TRUE(found.at(address(switched_end_of_it)).none()) << "the first case has lost it";
}

TEST(FirstArgument, AJumpToAnywhereMayLeadToAllInstructions) {
  const FirstArgument found = find(anywhere, anywhere_end);
  EXPECT_TRUE(found.during_call(address(anywhere_after)).none());
}

TEST(FirstArgument, AJumpBehindTheFrameLeadsAway) {
  const FirstArgument found = find(jumps_away, jumps_away_end);
  EXPECT_EQ(found.during_call(address(jumps_away_after)).registers, kBx);
  EXPECT_EQ(found.at(address(jumps_away_returns)).registers, kBx) << "padding is nobody's target";
}

TEST(FirstArgument, AJumpWithoutAFrameMayLeadWhereThereIsNone) {
  const FirstArgument found = find(without_frame, without_frame_end);
  EXPECT_EQ(found.at(address(without_frame)).registers, kDi);
  EXPECT_TRUE(found.at(address(without_frame_other)).none());
  EXPECT_TRUE(found.at(address(without_frame_pushed)).none());
}

TEST(FirstArgument, IsReadFromTheFrame) {
  Frame frame;
  frame.set(3, 77);
  const std::uint64_t words[] = {1, 2, 3};
  const StackView stack{0x7000, std::as_bytes(std::span(words))};
  EXPECT_EQ(value_in({.registers = kBx}, frame, 0x7018, stack), 77u);
  EXPECT_EQ(value_in({.registers = kDi}, frame, 0x7018, stack), std::nullopt)
      << "the frame does not know rdi";
  EXPECT_EQ(value_in({.slots = 1, .offsets = {-16}}, frame, 0x7018, stack), 2u);
  EXPECT_EQ(value_in({.slots = 1, .offsets = {16}}, frame, 0x7018, stack), std::nullopt)
      << "beyond the sample";
}

}  // namespace
}  // namespace tailor::unwind
