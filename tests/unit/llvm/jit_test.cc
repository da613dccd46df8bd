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

std::uint64_t tag_register() {
  std::uint64_t tag;
  asm volatile("mov %%r15, %0" : "=r"(tag));
  return tag;
}

extern "C" std::int64_t test_note_tag(std::int64_t x) {
  seen_tags.push_back(tag_register());
  return x + 1;
}

class JitTest : public QueryFixture, public ::testing::WithParamInterface<OptLevel> {
 protected:
  JitTest() {
    runtime_["note_tag"] = reinterpret_cast<void*>(&test_note_tag);
    seen_tags.clear();
  }

  // sum(n): for (i = 0; i < n; ++i) total = note_tag(total) + i, the loop owned by read, the rest by sum.
  void build_loop() {
    llvm::Function* f = module_->begin_function("sum", llvm::FunctionType::get(i64(), {i64()}, false));
    auto note = module_->declare_shared("note_tag", llvm::FunctionType::get(i64(), {i64()}, false));
    auto in_read = module_->tasks().enter(kRead);
    auto* entry = b().GetInsertBlock();
    auto* loop = llvm::BasicBlock::Create(module_->context(), "loop", f);
    auto* done = llvm::BasicBlock::Create(module_->context(), "done", f);
    b().CreateBr(loop);
    b().SetInsertPoint(loop);
    auto* i = b().CreatePHI(i64(), 2, "i");
    auto* total = b().CreatePHI(i64(), 2, "total");
    llvm::Value* next_total;
    {
      auto in_sum = module_->tasks().enter(kSum);
      next_total = b().CreateAdd(module_->call_shared(note, {total}), i, "next_total");
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
  open({.tags = TagStrategy::kR15});
  build_loop();
  auto code = compile(GetParam());
  ASSERT_NE(code, nullptr);
  EXPECT_EQ(code->function<std::int64_t(std::int64_t)>("sum")(4), 4 + 0 + 1 + 2 + 3);
  EXPECT_EQ(seen_tags, std::vector<std::uint64_t>(4, tag(3, kSum)));
}

// The caller's tag is back when generated code returns, so nesting works.
TEST_P(JitTest, PutsBackTheCallersTag) {
  open({.tags = TagStrategy::kR15});
  build_loop();
  auto code = compile(GetParam());
  void* sum = code->address("sum");
  std::uint64_t after;
  asm volatile("mov %2, %%r15\n mov $3, %%edi\n call *%1\n mov %%r15, %0"
               : "=&r"(after)
               : "r"(sum), "i"(77)
               : "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r15", "memory", "cc");
  EXPECT_EQ(after, 77u);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
TEST_P(JitTest, IsUsedByItsFirstNamesToo) {
  open({.tags = TagStrategy::kR15});
  module_->BeginFunction("one", llvm::FunctionType::get(i64(), {}, false));
  auto note = module_->DeclareShared("note_tag", llvm::FunctionType::get(i64(), {i64()}, false));
  {
    auto in_sum = module_->tasks().Enter(kSum);
    auto* place = module_->CreateEntryAlloca(i64(), "place");
    auto* call = module_->CallShared(note, {b().getInt64(41)});
    b().CreateStore(call, place);
    InstructionLog log(module_->tasks());
    log.Record(call);
    EXPECT_EQ(log.owners().lookup(call), tagging::Link::one(kSum));
    b().CreateRet(b().CreateLoad(i64(), place));
  }
  auto sealed = module_->Seal();
  ASSERT_TRUE(sealed.ok());
  auto jit = Jit::Create();
  ASSERT_TRUE(jit.ok());
  assert_ok((*jit)->Define("note_tag", reinterpret_cast<const void*>(&test_note_tag)));
  auto code = (*jit)->Compile(sealed->Clone(), {.level = GetParam()});
  ASSERT_TRUE(code.ok());
  EXPECT_EQ((*code)->Function<std::int64_t()>("one")(), 42);
  EXPECT_EQ((*code)->Address("one"), (*code)->address("one"));
  EXPECT_EQ((*code)->CodeObject(1, 2), (*code)->code_object(1, 2));
  EXPECT_EQ(seen_tags, std::vector{tag(3, kSum)});
}
#pragma GCC diagnostic pop

TEST_P(JitTest, EveryByteHasAnOwnerOrIsPrologue) {
  open({.tags = TagStrategy::kR15});
  build_loop();
  auto code = compile(GetParam());
  auto coverage = coverage_of(code->rows().rows(), static_cast<std::uint32_t>(code->code().size()));
  EXPECT_EQ(coverage.bytes[static_cast<int>(tagging::RowFlag::kUnmapped)], 0u);
  EXPECT_GT(coverage.bytes[static_cast<int>(tagging::RowFlag::kExact)], 0u);
  EXPECT_EQ(tasks_at(*code, 0).size(), 0u) << "the first instruction is a push";
}

TEST_P(JitTest, CodeObjectHoldsTheLoadedBytes) {
  open();
  build_loop();
  auto code = compile(GetParam());
  tailor::v1::CodeObject object;
  ASSERT_TRUE(object.ParseFromString(code->code_object(11, 12)));
  EXPECT_EQ(object.id(), 11u);
  EXPECT_EQ(object.plan_id(), 12u);
  EXPECT_EQ(object.code(), std::string(reinterpret_cast<const char*>(object.base()), object.code().size()));
  ASSERT_EQ(object.symbols_size(), 1);
  EXPECT_EQ(object.symbols(0).name(), "sum");
  EXPECT_GT(object.eh_frame().size(), 0u);
  EXPECT_EQ(object.eh_frame(),
            std::string(reinterpret_cast<const char*>(object.eh_frame_address()), object.eh_frame().size()));
  EXPECT_TRUE(tagging::decode_rows(object.rows()).ok());
}

// Line n of the listing is IR component n.
TEST_P(JitTest, ListingLinesAreComponents) {
  open();
  build_loop();
  auto sealed = module_->seal();
  ASSERT_TRUE(sealed.ok());
  auto plan = plan_.build({});
  ASSERT_EQ(plan.attachments_size(), 1);
  std::istringstream lines(plan.attachments(0).content());
  std::vector<std::string> listing;
  for (std::string line; std::getline(lines, line);) listing.push_back(line);
  ASSERT_EQ(listing.size(), plan.levels(2).component_count());
  for (std::size_t i = 0; i < listing.size(); ++i) {
    auto owners = plan_.owners(2, static_cast<ComponentId>(i + 1));
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
    open({.name = "same", .tags = TagStrategy::kR15, .lineage = lineage});
    build_loop();
    auto code = compile(GetParam());
    ASSERT_NE(code, nullptr);
    bytes[lineage] = code->code();
  }
  EXPECT_EQ(bytes[0], bytes[1]);
}

extern "C" std::int64_t test_throw(std::int64_t) {
  throw std::runtime_error("from the runtime");
}

TEST_P(JitTest, ExceptionsPassThroughGeneratedCode) {
  runtime_["note_tag"] = reinterpret_cast<void*>(&test_throw);
  open({.tags = TagStrategy::kR15});
  build_loop();
  auto code = compile(GetParam());
  EXPECT_THROW(code->function<std::int64_t(std::int64_t)>("sum")(4), std::runtime_error);
}

TEST_P(JitTest, UnknownSymbolIsAnError) {
  open();
  llvm::Function* f = module_->begin_function("f", llvm::FunctionType::get(i64(), {i64()}, false));
  auto missing = module_->declare_shared("nobody_defines_this", f->getFunctionType());
  b().CreateRet(module_->call_shared(missing, {f->getArg(0)}));
  auto sealed = module_->seal();
  auto jit = Jit::create();
  auto code = (*jit)->compile(std::move(*sealed), {.level = GetParam()});
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
