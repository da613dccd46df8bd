// The truth is this process itself: a parent object calls a method of its child, which calls back.
#include <gtest/gtest.h>
#include <unistd.h>

#include "daemon/unwind/stack_walk.h"
#include "tailor/thread_area.h"
#include "tests/unit/unwind/object_methods.h"
#include "tests/unit/unwind/own_stack.h"

asm(R"(
  .text
  .globl keeps_object
  .type keeps_object, @function
keeps_object:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %rdi, %rbx
  sub $16, %rsp
  .cfi_adjust_cfa_offset 16
  mov %rsi, (%rsp)
  call *(%rsp)
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  mov %rbx, %rax
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size keeps_object, . - keeps_object

  .globl forgets_object
  .type forgets_object, @function
forgets_object:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  xor %ebx, %ebx
  sub $16, %rsp
  .cfi_adjust_cfa_offset 16
  mov %rsi, (%rsp)
  call *(%rsp)
  add $16, %rsp
  .cfi_adjust_cfa_offset -16
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size forgets_object, . - forgets_object

  .globl calls_method
  .type calls_method, @function
calls_method:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %rdi, %rbx
  mov %rdx, %rdi
  call *8(%rdx)
  mov %rbx, %rax
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size calls_method, . - calls_method

  .globl calls_by_register
  .type calls_by_register, @function
calls_by_register:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %rdi, %rbx
  xor %edi, %edi
  call *%rdx
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size calls_by_register, . - calls_by_register

  .globl calls_kept
  .type calls_kept, @function
calls_kept:
  .cfi_startproc
  push %rbx
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbx, 0
  mov %rdx, %rbx
  mov %rbx, %rdi
  call *8(%rbx)
  pop %rbx
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbx
  ret
  .cfi_endproc
  .size calls_kept, . - calls_kept
)");

namespace tailor::unwind {
namespace {

test::OwnStack taken;

[[gnu::noinline]] void call_back() {
  test::take_own_stack(taken);
}

constexpr std::uint32_t kMethod = offsetof(Object, method);

class ObjectWalk : public testing::Test {
 protected:
  std::size_t found(std::uint32_t method, std::vector<std::uint64_t> addresses) {
    const Objects objects{method, addresses};
    return walk(taken.frame, taken.view(), {}, code, 16, 0, objects).object;
  }
  static std::uint64_t address(const Object& object) { return reinterpret_cast<std::uint64_t>(&object); }

  FileTables files;
  ProcessCode code{"/proc", ::getpid(), files};
  Object parent, child;
};

TEST_F(ObjectWalk, TheInnermostOneCounts) {
  child.method = keeps_object;
  calls_method(&parent, call_back, &child);
  EXPECT_EQ(found(kMethod, {address(parent), 0, address(child)}), 3u);
  EXPECT_EQ(found(kMethod, {address(parent), 0, address(child) | TAILOR_OBJECT_HIDDEN}), 3u);
}

TEST_F(ObjectWalk, OfObjectsThatAreNotOfThePlanTheCallerCounts) {
  child.method = keeps_object;
  calls_method(&parent, call_back, &child);
  EXPECT_EQ(found(kMethod, {address(parent)}), 1u);
  EXPECT_EQ(found(kMethod, {0x1000}), 0u);
  EXPECT_EQ(found(kMethod, {}), 0u);
}

TEST_F(ObjectWalk, WhatTheCallerOfAMethodKnowsIsNotBelieved) {
  // The method may have jumped to that of another object.
  child.method = forgets_object;
  calls_kept(&parent, call_back, &child);
  EXPECT_EQ(found(kMethod, {address(parent), address(child)}), 0u);
}

TEST_F(ObjectWalk, AFunctionThatWasCalledByARegisterMayHaveJumpedToAMethod) {
  // Whether the function that was called is the one that runs is not to be seen.
  calls_by_register(&parent, call_back, forgets_object);
  EXPECT_EQ(found(kMethod, {address(parent)}), 0u);
  calls_by_register(&parent, call_back, keeps_object);
  EXPECT_EQ(found(kMethod, {address(parent)}), 1u) << "an argument that is known is no other object";
}

TEST_F(ObjectWalk, BeyondAMethodWhoseObjectIsNotKnownNothingIsSaid) {
  child.method = forgets_object;
  calls_method(&parent, call_back, &child);
  EXPECT_EQ(found(kMethod, {address(parent), address(child)}), 0u);
  // Where calls are made by another word, this one is a function like all others.
  EXPECT_EQ(found(kMethod + 8, {address(parent), address(child)}), 1u);
}

}  // namespace
}  // namespace tailor::unwind
