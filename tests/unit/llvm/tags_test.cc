// Whose tag shared code sees: each strategy, and the calls that LLVM makes on its own.
#include <gmock/gmock.h>

#include <cstring>

#include "compiler/llvm/tag_code.h"
#include "tests/unit/llvm/query_fixture.h"

namespace tailor::jit {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::SizeIs;

struct Seen {
  std::uint64_t r15, r13, slot;
  const void* back;  // where the call returns to
};
std::vector<Seen> seen;
std::uint64_t thread_slot;

// Must be the first thing that shared code does.
#define NOTE_TAG()                                                         \
  do {                                                                     \
    std::uint64_t r15, r13;                                                \
    asm volatile("mov %%r15, %0\n mov %%r13, %1" : "=&r"(r15), "=r"(r13)); \
    seen.push_back({r15, r13, thread_slot, __builtin_return_address(0)});  \
  } while (0)

extern "C" std::int64_t tags_test_shared(std::int64_t x) {
  NOTE_TAG();
  return x + 1;
}
extern "C" void* tags_test_memset(void* to, int byte, std::size_t size) {
  NOTE_TAG();
  for (std::size_t i = 0; i < size; ++i) static_cast<volatile char*>(to)[i] = static_cast<char>(byte);
  return to;
}
extern "C" void* tags_test_memcpy(void* to, const void* from, std::size_t size) {
  NOTE_TAG();
  for (std::size_t i = 0; i < size; ++i)
    static_cast<volatile char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
extern "C" unsigned __int128 tags_test_divide(unsigned __int128 a, unsigned __int128 b) {
  NOTE_TAG();
  return a / b;
}

class TagsTest : public QueryFixture, public ::testing::WithParamInterface<OptLevel> {
 protected:
  TagsTest() {
    seen.clear();
    thread_slot = 0;
    runtime_["shared"] = reinterpret_cast<void*>(&tags_test_shared);
    runtime_["memset"] = reinterpret_cast<void*>(&tags_test_memset);
    runtime_["memcpy"] = reinterpret_cast<void*>(&tags_test_memcpy);
    runtime_["__udivti3"] = reinterpret_cast<void*>(&tags_test_divide);
  }

  // f(x, slot): read and probe call the same shared function in turn, then sum does.
  void build_three_callers() {
    auto* ptr = b().getPtrTy();
    llvm::Function* f = module_->begin_function("f", llvm::FunctionType::get(i64(), {i64(), ptr}, false));
    auto shared = module_->declare_shared("shared", llvm::FunctionType::get(i64(), {i64()}, false));
    auto in_read = module_->tasks().enter(kRead);
    module_->set_slot(f->getArg(1));
    llvm::Value* x = module_->call_shared(shared, {f->getArg(0)});
    {
      auto in_probe = module_->tasks().enter(kProbe);
      x = module_->call_shared(shared, {x});
    }
    x = module_->call_shared(shared, {x});
    auto in_sum = module_->tasks().enter(kSum);
    b().CreateRet(module_->call_shared(shared, {x}));
  }

  std::vector<std::uint64_t> expected() const {
    return {tag(1, kRead), tag(2, kProbe), tag(1, kRead), tag(3, kSum)};
  }
  template <typename Field>
  std::vector<std::uint64_t> run(Field field) {
    auto code = compile(GetParam());
    if (code == nullptr) return {};
    thread_slot = 0xABCD;
    EXPECT_EQ(code->template function<std::int64_t(std::int64_t, std::uint64_t*)>("f")(1, &thread_slot), 5);
    std::vector<std::uint64_t> out;
    for (const Seen& s : seen) out.push_back(s.*field);
    return out;
  }
};

TEST_P(TagsTest, R15) {
  open({.tags = TagStrategy::kR15});
  build_three_callers();
  EXPECT_EQ(run(&Seen::r15), expected());
}

TEST_P(TagsTest, R15AtSectionEntries) {
  open({.tags = TagStrategy::kR15, .tag_sections = true});
  build_three_callers();
  EXPECT_EQ(run(&Seen::r15), expected());
}

TEST_P(TagsTest, SwiftSelf) {
  open({.tags = TagStrategy::kSwiftSelf});
  build_three_callers();
  EXPECT_EQ(run(&Seen::r13), expected());
}

TEST_P(TagsTest, MemorySlotIsPutBack) {
  open({.tags = TagStrategy::kMemorySlot});
  build_three_callers();
  EXPECT_EQ(run(&Seen::slot), expected());
  EXPECT_EQ(thread_slot, 0xABCDu);
}

// A task has many instructions, so a tag cannot name one: its lower field stays empty.
TEST_P(TagsTest, NoComponentBelowTheTask) {
  plan_.set_tag_levels(1, 2);
  open({.tags = TagStrategy::kR15});
  build_three_callers();
  EXPECT_EQ(run(&Seen::r15),
            (std::vector<std::uint64_t>{tag(kRead, 0), tag(kProbe, 0), tag(kRead, 0), tag(kSum, 0)}));
}

// The twin that must fail: with no strategy nothing carries a tag.
TEST_P(TagsTest, WithoutStrategyNothingIsSeen) {
  open({.tags = TagStrategy::kNone});
  build_three_callers();
  EXPECT_THAT(run(&Seen::r15), Each(Not(::testing::AnyOf(tag(1, kRead), tag(2, kProbe), tag(3, kSum)))));
}

// g(to, from, size, high, low): a copy by probe, a 128-bit division by sum.
void build_inserted_calls(QueryModule& module, ComponentId copies, ComponentId divides) {
  TrackedBuilder& b = module.builder();
  auto* ptr = b.getPtrTy();
  auto* i64 = b.getInt64Ty();
  auto* i128 = b.getInt128Ty();
  llvm::Function* f =
      module.begin_function("g", llvm::FunctionType::get(i64, {ptr, ptr, i64, i64, i64}, false));
  {
    auto scope = module.tasks().enter(copies);
    b.CreateMemCpy(f->getArg(0), llvm::MaybeAlign(1), f->getArg(1), llvm::MaybeAlign(1), f->getArg(2));
  }
  auto scope = module.tasks().enter(divides);
  llvm::Value* number =
      b.CreateOr(b.CreateShl(b.CreateZExt(f->getArg(3), i128), 64), b.CreateZExt(f->getArg(4), i128));
  llvm::Value* quotient = b.CreateUDiv(number, b.CreateZExt(f->getArg(2), i128));
  b.CreateRet(b.CreateTrunc(quotient, i64));
}

TEST_P(TagsTest, CallsOfInstructionSelectionAreTagged) {
  for (TagStrategy strategy : {TagStrategy::kR15, TagStrategy::kSwiftSelf}) {
    seen.clear();
    open({.tags = strategy});
    build_inserted_calls(*module_, kProbe, kSum);
    auto code = compile(GetParam());
    ASSERT_NE(code, nullptr);
    char from[200], to[200];
    std::memset(from, 'x', sizeof from);
    std::memset(to, 0, sizeof to);
    auto* g = code->function<std::uint64_t(void*, void*, std::uint64_t, std::uint64_t, std::uint64_t)>("g");
    EXPECT_EQ(g(to, from, 200, 1, 0),
              static_cast<std::uint64_t>((static_cast<unsigned __int128>(1) << 64) / 200));
    EXPECT_EQ(std::memcmp(from, to, sizeof to), 0);
    ASSERT_THAT(seen, SizeIs(2));
    auto field = strategy == TagStrategy::kR15 ? &Seen::r15 : &Seen::r13;
    EXPECT_EQ(seen[0].*field, tag(2, kProbe));
    EXPECT_EQ(seen[1].*field, tag(3, kSum));
  }
}

// Probe and sum ask for the same 128-bit division: LLVM calls once, for both, under the tag of the first.
TEST_P(TagsTest, ACallThatTwoTasksShare) {
  if (GetParam() == OptLevel::kO0) GTEST_SKIP() << "no optimiser runs at O0";
  for (TagStrategy strategy : {TagStrategy::kR15, TagStrategy::kNone}) {
    seen.clear();
    open({.tags = strategy});
    auto* i128 = b().getInt128Ty();
    llvm::Function* f =
        module_->begin_function("h", llvm::FunctionType::get(i64(), {b().getPtrTy(), i64(), i64()}, false));
    auto quotient = [&] {
      llvm::Value* high = b().CreateShl(b().CreateZExt(f->getArg(1), i128), 64);
      return b().CreateTrunc(b().CreateUDiv(high, b().CreateZExt(f->getArg(2), i128)), i64());
    };
    {
      auto scope = module_->tasks().enter(kProbe);
      b().CreateStore(quotient(), f->getArg(0));
    }
    {
      auto scope = module_->tasks().enter(kSum);
      b().CreateRet(b().CreateAdd(quotient(), b().getInt64(1)));
    }
    auto code = compile(GetParam());
    ASSERT_NE(code, nullptr);
    std::uint64_t stored = 0;
    auto* h = code->function<std::uint64_t(std::uint64_t*, std::uint64_t, std::uint64_t)>("h");
    const std::uint64_t more = h(&stored, 1, 200);
    EXPECT_EQ(more, stored + 1);
    ASSERT_THAT(seen, SizeIs(1));
    const auto at = reinterpret_cast<std::uint64_t>(seen[0].back) - 1 - code->base();
    EXPECT_THAT(tasks_at(*code, static_cast<std::uint32_t>(at)), ElementsAre(kProbe, kSum));
    // The twin: without tags nothing names the first.
    EXPECT_EQ(seen[0].r15 == tag(2, kProbe), strategy == TagStrategy::kR15);
  }
}

// The optimiser turns the loop of `build` into a call of memset.
TEST_P(TagsTest, CallsOfTheOptimiserAreTagged) {
  if (GetParam() == OptLevel::kO0) GTEST_SKIP() << "no optimiser runs at O0";
  open({.tags = TagStrategy::kR15});
  auto* ptr = b().getPtrTy();
  llvm::Function* f =
      module_->begin_function("clear", llvm::FunctionType::get(b().getVoidTy(), {ptr, i64()}, false));
  f->addParamAttr(0, llvm::Attribute::NoAlias);
  auto scope = module_->tasks().enter(kBuild);
  auto* entry = b().GetInsertBlock();
  auto* loop = llvm::BasicBlock::Create(module_->context(), "loop", f);
  auto* done = llvm::BasicBlock::Create(module_->context(), "done", f);
  b().CreateBr(loop);
  b().SetInsertPoint(loop);
  auto* i = b().CreatePHI(i64(), 2);
  b().CreateStore(b().getInt64(0), b().CreateInBoundsGEP(i64(), f->getArg(0), {i}));
  auto* next = b().CreateAdd(i, b().getInt64(1), "", true, true);
  b().CreateCondBr(b().CreateICmpULT(next, f->getArg(1)), loop, done);
  i->addIncoming(b().getInt64(0), entry);
  i->addIncoming(next, loop);
  b().SetInsertPoint(done);
  b().CreateRetVoid();
  auto code = compile(GetParam());
  ASSERT_NE(code, nullptr);
  std::vector<std::uint64_t> words(100, 7);
  code->function<void(std::uint64_t*, std::uint64_t)>("clear")(words.data(), words.size());
  EXPECT_THAT(words, Each(0u));
  ASSERT_THAT(seen, SizeIs(1)) << "the loop did not become memset";
  EXPECT_EQ(seen[0].r15, tag(2, kBuild));
}

// A call past call_shared is said; the others are not.
TEST_P(TagsTest, WhatIsCalledUnderNoTagIsNamed) {
  runtime_["bare"] = reinterpret_cast<void*>(&tags_test_shared);
  for (TagStrategy strategy : {TagStrategy::kR15, TagStrategy::kSwiftSelf}) {
    open({.tags = strategy});
    auto* type = llvm::FunctionType::get(i64(), {i64()}, false);
    llvm::Function* f = module_->begin_function("f", type);
    auto scope = module_->tasks().enter(kRead);
    llvm::Value* x = module_->call_shared(module_->declare_shared("shared", type), {f->getArg(0)});
    b().CreateRet(b().CreateCall(module_->module().getOrInsertFunction("bare", type), {x}));
    auto code = compile(GetParam());
    ASSERT_NE(code, nullptr);
    ASSERT_THAT(code->imports(), SizeIs(2));
    EXPECT_EQ(code->imports()[0].name, "bare");
    EXPECT_TRUE(code->imports()[0].untagged);
    EXPECT_EQ(code->imports()[1].name, "shared");
    EXPECT_FALSE(code->imports()[1].untagged);
  }
}

// An engine with a builder and modules of its own: tag_code.h alone.
TEST_P(TagsTest, AnEngineThatBuildsItsIrByItself) {
  for (TagStrategy strategy :
       {TagStrategy::kNone, TagStrategy::kR15, TagStrategy::kSwiftSelf, TagStrategy::kMemorySlot}) {
    seen.clear();
    // r15 is the one that asks something of code generation: create_tag_register_pass.
    open({.tags = strategy == TagStrategy::kR15 ? strategy : TagStrategy::kNone});
    llvm::IRBuilder<> ir(module_->context());
    auto* type = llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty()}, false);
    llvm::Function* f = module_->begin_function(
        "f", llvm::FunctionType::get(ir.getInt64Ty(), {ir.getInt64Ty(), ir.getPtrTy()}, false));
    auto scope = module_->tasks().enter(kRead);
    ir.SetInsertPoint(&f->getEntryBlock());
    llvm::Value* slot = f->getArg(1);
    const bool restored = strategy == TagStrategy::kMemorySlot || strategy == TagStrategy::kR15;
    llvm::Value* before = restored ? emit_tag_read(ir, strategy, slot) : nullptr;
    auto callee = module_->module().getOrInsertFunction("shared", tagged_type(strategy, type));
    ir.CreateRet(
        emit_tagged_call(ir, strategy, slot, before, ir.getInt64(tag(1, kRead)), callee, {f->getArg(0)}));
    auto code = compile(GetParam());
    ASSERT_NE(code, nullptr);
    thread_slot = 0xABCD;
    EXPECT_EQ(code->function<std::int64_t(std::int64_t, std::uint64_t*)>("f")(1, &thread_slot), 2);
    ASSERT_THAT(seen, SizeIs(1));
    EXPECT_EQ(seen[0].r15 == tag(1, kRead), strategy == TagStrategy::kR15);
    EXPECT_EQ(seen[0].r13 == tag(1, kRead), strategy == TagStrategy::kSwiftSelf);
    EXPECT_EQ(seen[0].slot == tag(1, kRead), strategy == TagStrategy::kMemorySlot);
    EXPECT_EQ(thread_slot, 0xABCDu);
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, TagsTest,
                         ::testing::Values(OptLevel::kO0, OptLevel::kO1, OptLevel::kO2, OptLevel::kO3),
                         [](const auto& level) {
                           return "O" + std::to_string(static_cast<int>(level.param));
                         });

}  // namespace
}  // namespace tailor::jit
