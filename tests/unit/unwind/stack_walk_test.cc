// The truth is this process itself: its registers and stack, and what libgcc's unwinder says of them.
#include "daemon/unwind/stack_walk.h"

#include <execinfo.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/support/sanitizers.h"
#include "tests/unit/unwind/later_work.h"
#include "tests/unit/unwind/own_stack.h"
#include "tests/unit/unwind/small_table.h"

// Two functions that put r15 aside, use it, and call back: one says where, one says only that it is not to be
// had.
asm(R"(
  .text
  .type saves_and_says, @function
saves_and_says:
  .cfi_startproc
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %r15, 0
  xor %r15d, %r15d
  call *%rdi
  pop %r15
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r15
  ret
  .cfi_endproc
  .size saves_and_says, . - saves_and_says

  .type saves_and_hides, @function
saves_and_hides:
  .cfi_startproc
  push %r15
  .cfi_adjust_cfa_offset 8
  .cfi_undefined %r15
  xor %r15d, %r15d
  call *%rdi
  pop %r15
  .cfi_adjust_cfa_offset -8
  ret
  .cfi_endproc
  .size saves_and_hides, . - saves_and_hides
)");
extern "C" void saves_and_says(void (*callback)());
extern "C" void saves_and_hides(void (*callback)());

namespace tailor::unwind {
namespace {

constexpr std::uint64_t kKey = 0x1234567890abcdef;

test::OwnStack taken;
void* truth[64];
int truth_size;

[[gnu::noinline]] int compare(const void* a, const void* b) {
  if (taken.bytes.empty()) {
    truth_size = ::backtrace(truth, 64);
    test::take_own_stack(taken);
  }
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

[[gnu::noinline]] void call_back() {
  test::take_own_stack(taken, 1024);
}

[[gnu::noinline, gnu::optimize("no-omit-frame-pointer")]] void under_tag(std::uint64_t tag,
                                                                         void (*library)(void (*)())) {
  // Aligned as a call has to be, and out of the red zone; the frame is known by its frame pointer.
  asm volatile(
      "mov %0, %%r15\n\t"
      "mov %%rsp, %%rbx\n\t"
      "sub $128, %%rsp\n\t"
      "and $-16, %%rsp\n\t"
      "call *%1\n\t"
      "mov %%rbx, %%rsp\n\t"
      "xor %%r15d, %%r15d"
      :
      : "r"(tag), "r"(library), "D"(&call_back)
      : "rbx", "r15", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc");
}

class StackWalk : public testing::Test {
 protected:
  StackWalk() { taken = {}; }
  FileTables files;
  ProcessCode code{"/proc", ::getpid(), files};
};

TEST_F(StackWalk, GoesThroughTheCLibraryAsLibgccDoes) {
  TAILOR_SKIP_BACKTRACE_UNDER_ASAN();
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), compare);
  const Walked walked = walk(taken.frame, taken.view(), {}, code, 8, 0);
  // The first address of the truth is in compare() itself, at the call of backtrace().
  ASSERT_GE(truth_size, 6);
  ASSERT_GE(walked.chain.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(walked.chain[i], reinterpret_cast<std::uint64_t>(truth[i + 1])) << i;
  }
}

// Files are read elsewhere: the walk ends there until one is, and is the same afterwards.
TEST_F(StackWalk, WhatIsNotReadYetIsNotMadeUp) {
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), compare);
  test::LaterWork later;
  FileTables slow(later.run());
  ProcessCode own("/proc", ::getpid(), slow);
  const auto chain = walk(taken.frame, taken.view(), {}, code, 8, 0).chain;
  int pauses = 0;
  Walked walked = walk(taken.frame, taken.view(), {}, own, 8, 0);
  for (std::size_t known = 0; walked.unread && pauses < 20; ++pauses) {
    ASSERT_GE(walked.chain.size(), known);
    known = walked.chain.size();
    ASSERT_LT(known, chain.size());
    EXPECT_TRUE(std::equal(walked.chain.begin(), walked.chain.end(), chain.begin()));
    ASSERT_NE(own.missing(), nullptr);
    EXPECT_EQ(own.missing()->user(), ::geteuid());
    EXPECT_EQ(later.waiting(), 1u);
    later.do_all();
    EXPECT_TRUE(own.missing()->is_done());
    walked = walk(taken.frame, taken.view(), {}, own, 8, 0);
  }
  EXPECT_GE(pauses, 3) << "for the map, this program and the C library";
  EXPECT_FALSE(walked.unread);
  EXPECT_EQ(walked.chain, chain);
}

// The twin: there is a frame pointer to follow, and where no table is to come it is followed.
TEST_F(StackWalk, AFramePointerIsFollowedOnlyWhereNoTableIsToCome) {
  test::LaterWork later;
  FileTables slow(later.run());
  ProcessCode gone("/nonexistent", 1, slow);
  Frame frame;
  frame.set(kReturnAddress, 0x5000);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x7000);
  const auto stack = test::words({0, 0x6000});
  Walked walked = walk(frame, {0x7000, stack}, {}, gone, 8, 0);
  EXPECT_TRUE(walked.unread);
  EXPECT_TRUE(walked.chain.empty());
  later.do_all();
  walked = walk(frame, {0x7000, stack}, {}, gone, 8, 0);
  EXPECT_FALSE(walked.unread);
  EXPECT_EQ(walked.chain, std::vector<std::uint64_t>{0x6000});
}

TEST_F(StackWalk, NothingIsMadeUpBeyondWhatWasSampled) {
  int numbers[] = {3, 1, 2};
  std::qsort(numbers, 3, sizeof(int), compare);
  StackView little = taken.view();
  little.bytes = little.bytes.first(16);
  EXPECT_LT(walk(taken.frame, little, {}, code, 8, 0).chain.size(), 2u);
}

TEST_F(StackWalk, ATagIsFoundWhereTheLibrarySavedIt) {
  const std::uint64_t tag = tailor_tag_make(kKey, 1, 1, 2, 3);
  under_tag(tag, saves_and_says);
  const Walked walked = walk(taken.frame, taken.view(), {kKey, capture::TagRegister::kR15}, code, 8, 0);
  EXPECT_EQ(walked.tag, tag);
  EXPECT_EQ(walked.from, capture::TagFrom::kUnwound);
}

// Nothing says that the word is a register's: it may be a variable, or left over from another call.
TEST_F(StackWalk, AWordSomewhereOnTheStackIsNoTag) {
  const std::uint64_t tag = tailor_tag_make(kKey, 1, 1, 2, 3);
  under_tag(tag, saves_and_hides);
  const capture::AgentTag tags{kKey, capture::TagRegister::kR15};
  EXPECT_EQ(walk(taken.frame, taken.view(), tags, code, 8, 0).tag, 0u);
  bool there = false;
  for (std::size_t at = 0; at + 8 <= taken.bytes.size(); at += 8)
    there |= taken.view().read(taken.frame.value[kSp] + at) == tag;
  EXPECT_TRUE(there) << "but it lies within the sampled stack";
}

TEST_F(StackWalk, UnderAnotherKeyNothingIsATag) {
  under_tag(tailor_tag_make(kKey, 1, 1, 2, 3), saves_and_says);
  const Walked walked = walk(taken.frame, taken.view(), {kKey + 1, capture::TagRegister::kR15}, code, 8, 0);
  EXPECT_EQ(walked.tag, 0u);
}

TEST_F(StackWalk, GeneratedCodeAmongTheCallersEndsTheWalk) {
  under_tag(tailor_tag_make(kKey, 1, 1, 2, 3), saves_and_says);
  const Walked bare = walk(taken.frame, taken.view(), {}, code, 8, 0);
  ASSERT_GE(bare.chain.size(), 2u);
  code.add_code({1, bare.chain[0] - 8, bare.chain[0] + 8}, {}, 0);
  const Walked walked = walk(taken.frame, taken.view(), {kKey, capture::TagRegister::kR15}, code, 8, 0);
  EXPECT_EQ(walked.tag, 0u);
  EXPECT_EQ(walked.chain, std::vector{bare.chain[0]});
}

TEST_F(StackWalk, AProcessOfWhichNothingIsKnownIsWalkedByFramePointers) {
  under_tag(tailor_tag_make(kKey, 1, 1, 2, 3), saves_and_says);
  ProcessCode unknown("/nonexistent", 1, files);
  const Walked exact = walk(taken.frame, taken.view(), {}, code, 3, 0);
  const Walked walked = walk(taken.frame, taken.view(), {}, unknown, 2, 0);
  // saves_and_says makes no frame, so its caller is left out.
  ASSERT_EQ(exact.chain.size(), 3u);
  EXPECT_EQ(walked.chain, (std::vector{exact.chain[0], exact.chain[2]}));
  taken.frame.forget(kBp);
  EXPECT_TRUE(walk(taken.frame, taken.view(), {}, unknown, 2, 0).chain.empty());
}

// Shared code that an engine generated, after its push: only its table tells where it returns to.
TEST_F(StackWalk, CodeWithoutAPlanIsLeftByItsTable) {
  constexpr std::uint64_t kPlan = 0x9000;
  const auto table = test::small_table();
  const std::string_view bytes(reinterpret_cast<const char*>(table.data()), table.size());
  const auto stack = test::words({0xBB, kPlan + 5});
  Frame frame;
  frame.set(kReturnAddress, test::kCode + 1);
  frame.set(kSp, 0x7000);
  frame.set(kBp, 0x1234);
  for (bool told : {true, false}) {
    ProcessCode engine("/nonexistent", 1, files);
    engine.add_code({1, test::kCode, test::kCode + 0x40, false}, told ? bytes : "", test::kTable);
    engine.add_code({2, kPlan, kPlan + 0x100}, {}, 0);
    const Walked walked = walk(frame, {0x7000, stack}, {}, engine, 8, 0);
    EXPECT_EQ(walked.chain, told ? std::vector{kPlan + 5} : std::vector<std::uint64_t>{}) << told;
  }
}

// vfork takes its return address off the stack into a register, since the child would overwrite it: the
// caller's stack pointer is its own then. A second frame that does not move is no stack.
TEST_F(StackWalk, AReturnAddressInARegisterIsFollowedOnce) {
  constexpr unsigned kDi = 5;
  std::vector<std::byte> table;
  test::append32(table, 20);
  test::append32(table, 0);
  test::append(table, {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1B});
  test::append(table, {0x0C, 7, 0, 0x09, 16, kDi, 0});  // CFA = rsp, the return address in rdi
  test::append32(table, 16);
  test::append32(table, 28);
  test::append32(table, static_cast<std::uint32_t>(test::kCode - (test::kTable + table.size())));
  test::append32(table, 0x40);
  test::append(table, {0, 0, 0, 0});
  test::append32(table, 0);
  const std::string_view bytes(reinterpret_cast<const char*>(table.data()), table.size());
  ProcessCode libc("/nonexistent", 1, files);
  libc.add_code({1, test::kCode, test::kCode + 0x40, false}, bytes, test::kTable);
  Frame frame;
  frame.set(kReturnAddress, test::kCode + 8);
  frame.set(kSp, 0x7000);
  frame.set(kDi, test::kCode + 0x20);  // its caller, which makes no frame either
  const auto stack = test::words({1, 2});
  EXPECT_EQ(walk(frame, {0x7000, stack}, {}, libc, 8, 0).chain, std::vector{test::kCode + 0x20});
}

// One test for each reason. Code at kCode has a table: push %rbp, mov %rsp, %rbp.
class EndOfAWalk : public testing::Test {
 protected:
  static constexpr std::uint64_t kStack = 0x7000, kCaller = test::kCode + 0x200;
  EndOfAWalk() {
    frame.set(kReturnAddress, test::kCode);
    frame.set(kSp, kStack);
  }
  void add_table(ProcessCode& to, const std::vector<std::byte>& table) {
    const std::string_view bytes(reinterpret_cast<const char*>(table.data()), table.size());
    to.add_code({1, test::kCode, test::kCode + 0x100, false}, bytes, test::kTable);
  }
  WalkEnd end(const std::vector<std::byte>& stack, std::size_t most = 8) {
    return walk(frame, {kStack, stack}, {}, engine, most, 0).end;
  }
  FileTables files;
  ProcessCode engine{"/nonexistent", 1, files};
  Frame frame;
};

TEST_F(EndOfAWalk, NoFileIsMappedWhereTheCodeIs) {
  EXPECT_EQ(end(test::words({1, 2})), WalkEnd::kNoFile);
}

TEST_F(EndOfAWalk, GeneratedCodeHasNoTable) {
  add_table(engine, {});
  EXPECT_EQ(end(test::words({1, 2})), WalkEnd::kGenerated);
}

TEST_F(EndOfAWalk, TheTableOfGeneratedCodeHasNoEntryThere) {
  add_table(engine, test::small_table());
  frame.set(kReturnAddress, test::kCode + 0x80);
  EXPECT_EQ(end(test::words({1, 2})), WalkEnd::kGenerated);
}

TEST_F(EndOfAWalk, TheCopiedStackIsTooShort) {
  add_table(engine, test::small_table());
  frame.set(kReturnAddress, test::kCode + 1);  // behind the push: the return address is the second word
  EXPECT_EQ(end(test::words({0xBB})), WalkEnd::kShortStack);
  EXPECT_EQ(end(test::words({0xBB, kCaller})), WalkEnd::kNoFile)
      << "with one word more, the caller is what ends";
}

TEST_F(EndOfAWalk, AStepThatGoesDownIsNonsense) {
  add_table(engine, test::small_table());
  frame.set(kReturnAddress, test::kCode + 4);
  frame.set(kBp, kStack - 0x100);  // below the copied piece
  EXPECT_EQ(end(test::words({1, 2})), WalkEnd::kNonsense);
}

TEST_F(EndOfAWalk, WhatTheRuleNeedsIsNotKnown) {
  add_table(engine, test::small_table());
  frame.set(kReturnAddress, test::kCode + 4);  // by rbp, which the sample does not have
  EXPECT_EQ(end(test::words({1, 2})), WalkEnd::kNonsense);
}

TEST_F(EndOfAWalk, AZeroInPlaceOfACallerIsTheBegin) {
  add_table(engine, test::small_table());
  EXPECT_EQ(end(test::words({0, 2})), WalkEnd::kBegin);
}

TEST_F(EndOfAWalk, AFunctionWithoutACallerIsTheBegin) {
  std::vector<std::byte> table = test::small_table();
  constexpr std::size_t kInitial = 8 + 9 + 3;  // behind "CFA = rsp + 8"
  table[kInitial] = std::byte{0x07};           // the return address is undefined
  table[kInitial + 1] = std::byte{16};
  add_table(engine, table);
  EXPECT_EQ(end(test::words({kCaller, 2})), WalkEnd::kBegin);
}

TEST_F(EndOfAWalk, TheLimitOfFramesIsReached) {
  add_table(engine, test::small_table());
  EXPECT_EQ(end(test::words({kCaller, 2}), 1), WalkEnd::kFrames);
}

TEST_F(EndOfAWalk, CodeOfAPlanIsAnAnswer) {
  add_table(engine, test::small_table());
  engine.add_code({2, kCaller - 8, kCaller + 8}, {}, 0);
  EXPECT_EQ(end(test::words({kCaller, 2}), 1), WalkEnd::kKnown);
}

TEST_F(EndOfAWalk, AFileIsNotReadYet) {
  test::LaterWork later;
  FileTables slow(later.run());
  ProcessCode gone("/nonexistent", 1, slow);
  const auto stack = test::words({1, 2});
  EXPECT_EQ(walk(frame, {kStack, stack}, {}, gone, 8, 0).end, WalkEnd::kUnread);
  later.do_all();
  EXPECT_EQ(walk(frame, {kStack, stack}, {}, gone, 8, 0).end, WalkEnd::kNoFile);
}

// A function that calls itself, after instructions that cost much and say nothing.
TEST_F(EndOfAWalk, TheTablesCostTooMuch) {
  std::vector<std::byte> table;
  test::append32(table, 20);
  test::append32(table, 0);
  test::append(table, {1, 'z', 'R', 0, 1, 0x78, 16, 1, 0x1B});
  test::append(table, {0x0C, 7, 8, 0x90, 1, 0, 0});
  constexpr std::uint32_t kNops = 200;  // few enough that they are not remembered
  test::append32(table, 16 + kNops);
  test::append32(table, 28);
  test::append32(table, static_cast<std::uint32_t>(test::kCode - (test::kTable + table.size())));
  test::append32(table, 0x40);
  test::append(table, {0});
  table.resize(table.size() + 3 + kNops);  // DW_CFA_nop
  test::append32(table, 0);
  add_table(engine, table);
  const std::vector<std::uint64_t> callers(200, test::kCode + 8);
  std::vector<std::byte> stack(callers.size() * sizeof(std::uint64_t));
  std::memcpy(stack.data(), callers.data(), stack.size());
  EXPECT_EQ(end(stack, 150), WalkEnd::kWork);
  EXPECT_EQ(end(stack, 10), WalkEnd::kFrames);
}

// Native code at kNative, of which nothing is known, was called by generated code of a plan, which keeps an
// anchor: its frame lies at kFrame.
class StackWalkByAnchor : public testing::Test {
 protected:
  static constexpr std::uint64_t kNative = 0x5000, kPlan = 0x9000, kStack = 0x7000, kFrame = 0x17000;
  StackWalkByAnchor() {
    engine.add_code({2, kPlan, kPlan + 0x100}, {}, 0);
    innermost.set(kReturnAddress, kNative);
    innermost.set(kSp, kStack);
  }
  std::vector<std::uint64_t> chain(const Anchor& anchor) {
    const StackView stack{kStack, lower, {kFrame - 8, upper}, anchor};
    return walk(innermost, stack, {}, engine, 8, 0).chain;
  }
  FileTables files;
  ProcessCode engine{"/nonexistent", 1, files};
  Frame innermost;
  std::vector<std::byte> lower = test::words({1, 2}), upper = test::words({kPlan + 7, 3});
};

TEST_F(StackWalkByAnchor, NativeCodeThatCannotBeWalkedIsSkipped) {
  EXPECT_EQ(chain({kFrame, kPlan + 5, 0}), std::vector{kPlan + 5});
  EXPECT_TRUE(chain({}).empty()) << "without an anchor there is no way";
}

TEST_F(StackWalkByAnchor, ItsAddressMayLieBelowTheFrame) {
  EXPECT_EQ(chain({kFrame, 0, 0}), std::vector{kPlan + 7});
  EXPECT_TRUE(chain({kFrame + 0x1000, 0, 0}).empty()) << "of that nothing was sampled";
}

TEST_F(StackWalkByAnchor, OneBelowTheInnermostFrameIsOfNoCaller) {
  EXPECT_TRUE(chain({kStack, kPlan + 5, 0}).empty());
  EXPECT_TRUE(chain({kStack - 0x100, kPlan + 5, 0}).empty());
}

// A frame pointer of code that uses rbp as it likes leads anywhere.
TEST_F(StackWalkByAnchor, ItIsBelievedMoreThanFramePointers) {
  innermost.set(kBp, kStack);
  lower = test::words({kStack + 0x20000, 0x4444, 0, 0});
  EXPECT_EQ(chain({kFrame, kPlan + 5, 0}), std::vector{kPlan + 5});
  EXPECT_EQ(chain({}), std::vector<std::uint64_t>{0x4444});
}

// The frame itself is shared code: the walk goes on in the upper piece.
TEST_F(StackWalkByAnchor, TheWalkGoesOnFromItsFrame) {
  const auto table = test::small_table();
  const std::string_view bytes(reinterpret_cast<const char*>(table.data()), table.size());
  engine.add_code({1, test::kCode, test::kCode + 0x40, false}, bytes, test::kTable);
  upper = test::words({0, 0xBB, kPlan + 9});
  EXPECT_EQ(chain({kFrame, test::kCode + 2, 0}), (std::vector{test::kCode + 2, kPlan + 9}));
}

// Call frame information that is wrong for what lies there leads past the frame that called native code.
TEST_F(StackWalkByAnchor, AStepPastItIsTakenBack) {
  const auto table = test::small_table();
  const std::string_view bytes(reinterpret_cast<const char*>(table.data()), table.size());
  engine.add_code({1, test::kCode, test::kCode + 0x40, false}, bytes, test::kTable);
  innermost.set(kReturnAddress, test::kCode + 1);
  lower = test::words({0xBB, 0x4444});  // to code of nobody
  EXPECT_EQ(chain({kStack + 8, kPlan + 5, 0}), std::vector{kPlan + 5});
  EXPECT_EQ(chain({}), std::vector<std::uint64_t>{0x4444});
}

}  // namespace
}  // namespace tailor::unwind
