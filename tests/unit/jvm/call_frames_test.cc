#include "agent/jvm/call_frames.h"

#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "agent/jvm/frame_pops.h"
#include "daemon/unwind/cfi_table.h"

namespace tailor::jvm {
namespace {

constexpr std::uint64_t kBase = 0x7f00'0000'1000, kStack = 0x7ffe'0000'0000, kCaller = 0x7f00'0000'5010;

// One step from `address`, with `words` of stack: the caller's frame, without an address if there is none.
unwind::Frame caller_of(const std::string& table, std::uint64_t address, std::span<const std::uint64_t> words,
                        std::uint64_t bp) {
  const auto parsed = unwind::CfiTable::parse(std::as_bytes(std::span(table)), 0x1000);
  unwind::Frame frame;
  frame.set(unwind::kReturnAddress, address);
  frame.set(unwind::kSp, kStack);
  frame.set(unwind::kBp, bp);
  bool signal = false;
  unwind::CfiWork work;
  const bool stepped = parsed.step(frame, 0, true, {kStack, std::as_bytes(words)}, signal, work);
  return stepped ? frame : unwind::Frame{};
}

TEST(CallFrames, OfCodeWithoutAFrameTheCallerIsOnTopOfTheStack) {
  const std::string table = frames_without_frame(kBase, 0x40);
  constexpr std::array<std::uint64_t, 2> kWords = {kCaller, 2};
  for (std::uint64_t offset : {0x0, 0x13, 0x3f}) {
    const unwind::Frame caller = caller_of(table, kBase + offset, kWords, 77);
    EXPECT_EQ(caller.value[unwind::kReturnAddress], kCaller);
    EXPECT_EQ(caller.value[unwind::kSp], kStack + 8);
    EXPECT_EQ(caller.value[unwind::kBp], 77u) << "its caller may use it as it likes";
  }
  EXPECT_EQ(caller_of(table, kBase + 0x40, kWords, 77).known, 0u) << "beyond its end nothing is known";
}

TEST(CallFrames, OfAFixedSizeTheCallerIsBehindTheFrameOnceItIsComplete) {
  NmethodFacts facts;
  facts.frame_words = 4;
  facts.frame_complete = 0x10;
  const std::string table = frames_of_fixed_size(kBase, 0x40, facts);
  constexpr std::array<std::uint64_t, 4> kWords = {1, 2, 99, kCaller};
  const unwind::Frame caller = caller_of(table, kBase + 0x20, kWords, 77);
  EXPECT_EQ(caller.value[unwind::kReturnAddress], kCaller);
  EXPECT_EQ(caller.value[unwind::kSp], kStack + 32);
  EXPECT_EQ(caller.value[unwind::kBp], 99u);
  EXPECT_EQ(caller_of(table, kBase, kWords, 77).value[unwind::kReturnAddress], 1u);
}

// As C2 compiles for JDK 17: push, sub $16, work, add, pop, poll, ret, and once more without a poll.
std::vector<std::uint8_t> compiled_method() {
  return {0x55, 0x48, 0x83, 0xEC, 0x10,                                         // 0: push, sub
          0x90, 0x90,                                                           // 5
          0x48, 0x83, 0xC4, 0x10, 0x5D,                                         // 7: add, pop
          0x49, 0x3B, 0xA7, 0x48, 0x03, 0,    0, 0x0F, 0x87, 1, 0, 0, 0, 0xC3,  // 12: poll, ret
          0x90,                                                                 // 26
          0x48, 0x83, 0xC4, 0x20, 0x5D, 0xC3,                                   // 27: not of this frame
          0x48, 0x81, 0xC4, 0x10, 0,    0,    0, 0x5D, 0xC3,                    // 33: add, pop, ret
          0xF4};
}

CompiledCode compiled(std::span<const std::uint8_t> bytes) {
  CompiledCode code;
  code.base = kBase;
  code.size = static_cast<std::uint32_t>(bytes.size());
  code.facts.frame_words = 4;
  code.facts.frame_complete = 5;
  code.pops = frame_pops_of(bytes, code.facts);
  code.frame_push = frame_push_of(bytes, code.facts);
  return code;
}

TEST(FramePops, AreFoundByTheInstructionsThatTakeDownJustThisFrame) {
  const std::vector<std::uint8_t> bytes = compiled_method();
  const CompiledCode code = compiled(bytes);
  EXPECT_EQ(code.frame_push, 1u);
  ASSERT_EQ(code.pops.size(), 2u);
  EXPECT_EQ(code.pops[0].after_add, 11u);
  EXPECT_EQ(code.pops[0].after_pop, 12u);
  EXPECT_EQ(code.pops[0].end, 26u);
  EXPECT_EQ(code.pops[1].after_add, 40u);
  EXPECT_EQ(code.pops[1].end, 42u);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto cut = std::span(bytes).first(size);
    EXPECT_LE(frame_pops_of(cut, code.facts).size(), 2u) << size;
    frame_push_of(cut, code.facts);
  }
}

TEST(CallFrames, OfCompiledCodeTheCallerIsFoundAtEveryInstruction) {
  const std::vector<std::uint8_t> bytes = compiled_method();
  const std::string table = frames_of_compiled(compiled(bytes));
  // What lies on the stack, from the stack pointer up, at each offset; rbp is 77.
  struct Case {
    std::uint64_t offset;
    std::vector<std::uint64_t> words;
    std::uint64_t bp;
  };
  for (const Case& each :
       {Case{0, {kCaller}, 77}, Case{1, {99, kCaller}, 99}, Case{5, {1, 2, 99, kCaller}, 99},
        Case{7, {1, 2, 99, kCaller}, 99}, Case{11, {99, kCaller}, 99}, Case{12, {kCaller}, 77},
        Case{25, {kCaller}, 77}, Case{26, {1, 2, 99, kCaller}, 99}, Case{41, {kCaller}, 77},
        Case{42, {1, 2, 99, kCaller}, 99}}) {
    const unwind::Frame caller = caller_of(table, kBase + each.offset, each.words, 77);
    EXPECT_EQ(caller.value[unwind::kReturnAddress], kCaller) << each.offset;
    EXPECT_EQ(caller.value[unwind::kSp], kStack + 8 * each.words.size()) << each.offset;
    EXPECT_EQ(caller.value[unwind::kBp], each.bp) << each.offset;
  }
}

}  // namespace
}  // namespace tailor::jvm
