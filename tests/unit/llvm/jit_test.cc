#include "compiler/llvm/jit.h"

#include <gmock/gmock.h>

#include <stdexcept>

#include "tailor/v1/dictionary.pb.h"
#include "tests/unit/llvm/query_fixture.h"

namespace tailor::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::uint64_t> seen_tags;

std::uint64_t TagRegister() {
  std::uint64_t tag;
  asm volatile("mov %%r15, %0" : "=r"(tag));
  return tag;
}

extern "C" std::int64_t TestNoteTag(std::int64_t x) {
  seen_tags.push_back(TagRegister());
  return x + 1;
}

class JitTest : public QueryFixture, public ::testing::WithParamInterface<OptLevel> {
 protected:
  JitTest() {
    runtime_["note_tag"] = reinterpret_cast<void*>(&TestNoteTag);
    seen_tags.clear();
  }

  // sum(n): for (i = 0; i < n; ++i) total = note_tag(total) + i, the loop owned by read, the rest by sum.
  void BuildLoop() {
    llvm::Function* f = module_->BeginFunction("sum", llvm::FunctionType::get(i64(), {i64()}, false));
    auto note = module_->DeclareShared("note_tag", llvm::FunctionType::get(i64(), {i64()}, false));
    auto in_read = module_->tasks().Enter(kRead);
    auto* entry = b().GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(module_->context(), "loop", f);
    auto* done = llvm::BasicBlock::Create(module_->context(), "done", f);
    b().CreateBr(loop);
    b().SetInsertPoint(loop);
    auto* i = b().CreatePHI(i64(), 2, "i");
    auto* total = b().CreatePHI(i64(), 2, "total");
    llvm::Value* next_total;
    {
      auto in_sum = module_->tasks().Enter(kSum);
      next_total = b().CreateAdd(module_->CallShared(note, {total}), i, "next_total");
    }
    auto* next = b().CreateAdd(i, b().getInt64(1), "next");
    b().CreateCondBr(b().CreateICmpULT(next, f->getArg(0)), loop, done);
    i->addIncoming(b().getInt64(0), entry);
    i->addIncoming(next, loop);
    total->addIncoming(b().getInt64(0), entry);
    total->addIncoming(next_total, loop);
    b().SetInsertPoint(done);
    b().CreateRet(next_total);
  }
};

TEST_P(JitTest, RunsAndTagsSharedCalls) {
  Open({.tags = TagStrategy::kR15});
  BuildLoop();
  auto code = Compile(GetParam());
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->Function<std::int64_t(std::int64_t)>("sum")(4), 4 + 0 + 1 + 2 + 3);
  EXPECT_EQ(seen_tags, std::vector<std::uint64_t>(4, Tag(3, kSum)));
}

// The caller's tag is back when generated code returns, so nesting works.
TEST_P(JitTest, PutsBackTheCallersTag) {
  Open({.tags = TagStrategy::kR15});
  BuildLoop();
  auto code = Compile(GetParam());
  void* sum = code->Address("sum");
  std::uint64_t after;
  asm volatile("mov %2, %%r15\n mov $3, %%edi\n call *%1\n mov %%r15, %0"
               : "=&r"(after)
               : "r"(sum), "i"(77)
               : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "memory", "cc");
  EXPECT_EQ(after, 77u);
}

TEST_P(JitTest, EveryByteHasAnOwnerOrIsPrologue) {
  Open({.tags = TagStrategy::kR15});
  BuildLoop();
  auto code = Compile(GetParam());
  auto coverage = CoverageOf(code->rows().rows(), static_cast<std::uint32_t>(code->code().size()));
  EXPECT_EQ(coverage.bytes[static_cast<int>(tagging::RowFlag::kUnmapped)], 0u);
  EXPECT_GT(coverage.bytes[static_cast<int>(tagging::RowFlag::kExact)], 0u);
  EXPECT_EQ(TasksAt(*code, 0).size(), 0u) << "the first instruction is a push";
}

TEST_P(JitTest, CodeObjectHoldsTheLoadedBytes) {
  Open();
  BuildLoop();
  auto code = Compile(GetParam());
  tailor::v1::CodeObject object;
  ASSERT_TRUE(object.ParseFromString(code->CodeObject(11, 12)));
  EXPECT_EQ(object.id(), 11u);
  EXPECT_EQ(object.plan_id(), 12u);
  EXPECT_EQ(object.code(), std::string(reinterpret_cast<const char*>(object.base()), object.code().size()));
  ASSERT_EQ(object.symbols_size(), 1);
  EXPECT_EQ(object.symbols(0).name(), "sum");
  EXPECT_GT(object.eh_frame().size(), 0u);
  EXPECT_EQ(object.eh_frame(),
            std::string(reinterpret_cast<const char*>(object.eh_frame_address()), object.eh_frame().size()));
  EXPECT_TRUE(tagging::DecodeRows(object.rows()).ok());
}

// Line n of the listing is IR component n.
TEST_P(JitTest, ListingLinesAreComponents) {
  Open();
  BuildLoop();
  auto sealed = module_->Seal();
  ASSERT_TRUE(sealed.ok());
  auto plan = plan_.Build({});
  ASSERT_EQ(plan.attachments_size(), 1);
  std::istringstream lines(plan.attachments(0).content());
  std::vector<std::string> listing;
  for (std::string line; std::getline(lines, line);) listing.push_back(line);
  ASSERT_EQ(listing.size(), plan.levels(2).component_count());
  for (std::size_t i = 0; i < listing.size(); ++i) {
    auto owners = plan_.Owners(2, static_cast<ComponentId>(i + 1));
    if (listing[i].find("next_total =") != std::string::npos ||
        listing[i].find("call") != std::string::npos) {
      EXPECT_THAT(owners, ElementsAre(kSum)) << listing[i];
    } else if (listing[i].back() == ':') {
      EXPECT_THAT(owners, ElementsAre()) << listing[i];
    } else if (listing[i].find("ret ") == std::string::npos) {
      EXPECT_THAT(owners, ElementsAre(kRead)) << listing[i];
    }
  }
}

TEST_P(JitTest, LineageLeavesNoTraceInTheCode) {
  std::string bytes[2];
  for (bool lineage : {false, true}) {
    Open({.name = "same", .tags = TagStrategy::kR15, .lineage = lineage});
    BuildLoop();
    auto code = Compile(GetParam());
    ASSERT_NE(code, nullptr);
    bytes[lineage] = code->code();
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

extern "C" std::int64_t TestThrow(std::int64_t) {
  throw std::runtime_error("from the runtime");
}

TEST_P(JitTest, ExceptionsPassThroughGeneratedCode) {
  runtime_["note_tag"] = reinterpret_cast<void*>(&TestThrow);
  Open({.tags = TagStrategy::kR15});
  BuildLoop();
  auto code = Compile(GetParam());
  EXPECT_THROW(code->Function<std::int64_t(std::int64_t)>("sum")(4), std::runtime_error);
}

TEST_P(JitTest, UnknownSymbolIsAnError) {
  Open();
  llvm::Function* f = module_->BeginFunction("f", llvm::FunctionType::get(i64(), {i64()}, false));
  auto missing = module_->DeclareShared("nobody_defines_this", f->getFunctionType());
  b().CreateRet(module_->CallShared(missing, {f->getArg(0)}));
  auto sealed = module_->Seal();
  auto jit = Jit::Create();
  auto code = (*jit)->Compile(std::move(*sealed), {.level = GetParam()});
  ASSERT_FALSE(code.ok());
  EXPECT_THAT(code.error().message, HasSubstr("nobody_defines_this"));
}

INSTANTIATE_TEST_SUITE_P(Levels, JitTest,
                         ::testing::Values(OptLevel::kO0, OptLevel::kO1, OptLevel::kO2, OptLevel::kO3),
                         [](const auto& level) {
                           return "O" + std::to_string(static_cast<int>(level.param));
                         });

}  // namespace
}  // namespace tailor::jit
