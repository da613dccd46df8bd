// Lineage for engines that have a builder, passes and a JIT of their own, against the same code by
// QueryModule and Jit.
#include "compiler/llvm/engine_lineage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/ExecutionEngine/ExecutionEngine.h>
#include <llvm/ExecutionEngine/MCJIT.h>
#include <llvm/Support/TargetSelect.h>

#include <cstring>

#include "compiler/llvm/tag_code.h"
#include "tests/unit/llvm/engine_query.h"
#include "tests/unit/llvm/query_fixture.h"

namespace tailor::jit {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

// The shared function lies far from generated code, so JITLink makes a stub for it: jmp *OFFSET(%rip).
void expect_stubs(const LoadedCode& loaded) {
  constexpr std::size_t kStub = 6;
  ASSERT_THAT(loaded.stubs, SizeIs(1));
  const StubRange& range = loaded.stubs[0];
  ASSERT_EQ(range.size, kStub);
  ASSERT_TRUE(range.address < loaded.base || range.address >= loaded.base + loaded.code.size());
  const auto* stub = reinterpret_cast<const unsigned char*>(range.address);
  ASSERT_EQ(stub[0], 0xFF);
  ASSERT_EQ(stub[1], 0x25);
  std::int32_t offset = 0;
  std::memcpy(&offset, stub + 2, sizeof offset);
  std::int64_t (*target)(std::int64_t) = nullptr;
  std::memcpy(&target, stub + kStub + offset, sizeof target);
  EXPECT_EQ(reinterpret_cast<std::uint64_t>(target), reinterpret_cast<std::uint64_t>(&engine_lineage_shared));
}

TEST(EngineLineageTest, AStockLlJitHasTheRowsOfOurs) {
  Told told;
  EngineLineage lineage(told.events());
  std::vector<OwnedRow> rows;
  {
    auto jit = new_jit(lineage);
    auto built = build();
    optimise(*built);
    run(*built, lineage, *jit);
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedObject& object = told.loaded[0];
    EXPECT_EQ(object.plan, kPlan);
    ASSERT_THAT(object.loaded.functions, SizeIs(1));
    EXPECT_EQ(object.loaded.functions[0].name, "work");
    EXPECT_EQ(std::memcmp(object.loaded.code.data(), reinterpret_cast<void*>(object.loaded.base),
                          object.loaded.code.size()),
              0);
    EXPECT_FALSE(object.loaded.eh_frame.empty());
    // LLVM 16's LLJIT uses RuntimeDyld.
    const bool jitlink = llvm::isa<llvm::orc::ObjectLinkingLayer>(jit->getObjLinkingLayer());
    if (jitlink) expect_stubs(object.loaded);
    tailor::v1::CodeObject code;
    ASSERT_TRUE(code.ParseFromString(object.code_object(3, "own")));
    EXPECT_EQ(code.id(), 3u);
    EXPECT_EQ(code.plan_id(), kPlan);
    EXPECT_EQ(code.tier(), "own");
    ASSERT_EQ(code.stubs_size(), jitlink ? 1 : 0);
    if (jitlink) {
      EXPECT_EQ(code.stubs(0).address(), object.loaded.stubs[0].address);
      EXPECT_EQ(code.stubs(0).size(), object.loaded.stubs[0].size);
    }
    rows = owned_rows(code.rows(), built->plan);
    EXPECT_THAT(told.removed, IsEmpty());
  }
  EXPECT_THAT(told.removed, ElementsAre(1));
  EXPECT_THAT(all_tasks(rows), UnorderedElementsAre(kRead, kProbe, kSum));
  EXPECT_TRUE(share_the_product(rows));

  // The same by our own module and JIT.
  tagging::DictionaryBuilder plan = new_plan();
  QueryModule module(plan, {.name = "engine"});
  auto* function = new_function(module.module(), "work");
  module.builder().SetInsertPoint(llvm::BasicBlock::Create(module.context(), "entry", function));
  auto* i64 = llvm::Type::getInt64Ty(module.context());
  build_work(module.builder(), function,
             module.module().getOrInsertFunction("engine_lineage_shared", i64, i64),
             [&](ComponentId task) { return module.tasks().enter(task); });
  auto sealed = module.seal();
  ASSERT_TRUE(sealed.ok());
  auto jit = std::move(*Jit::create());
  auto code = jit->compile(std::move(*sealed), {.level = OptLevel::kO1});
  ASSERT_TRUE(code.ok());
  // Two pipelines choose other instructions here and there, and another order of neighbours.
  const auto own = parts_of_code(rows), ours = parts_of_code(owned_rows((*code)->rows().build(), plan));
  for (const auto& [tasks, part] : ours) {
    ASSERT_TRUE(own.contains(tasks));
    EXPECT_NEAR(own.at(tasks), part, 0.1);
  }
  EXPECT_EQ(own.size(), ours.size());
}

TEST(EngineLineageTest, WithoutAnInserterNothingIsOwned) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build(false);
  optimise(*built);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_THAT(all_tasks(owned_rows(told.loaded[0].rows, built->plan)), IsEmpty());
}

TEST(EngineLineageTest, WhatIsNotObservedIsKnownLessWell) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  optimise(*built, false);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_FALSE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
}

TEST(EngineLineageTest, LocationsOfTheEngineDoAsWell) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage), other = new_jit(lineage);
  Status begun = Ok{};
  auto built = build_with_locations(begun);
  ASSERT_TRUE(begun.ok()) << begun.error().message;
  optimise(*built);
  run(*built, lineage, *jit);
  auto inserted = build();
  optimise(*inserted);
  run(*inserted, lineage, *other);
  ASSERT_THAT(told.loaded, SizeIs(2));
  EXPECT_EQ(owned_rows(told.loaded[0].rows, built->plan), owned_rows(told.loaded[1].rows, inserted->plan));

  build_with_locations(begun, 1);  // the twin: sum's line is 5, and there are four tasks
  ASSERT_FALSE(begun.ok());
  EXPECT_THAT(begun.error().message, HasSubstr("line 5, but the plan has 4 components"));
}

TEST(EngineLineageTest, RuntimeDyldIsHeardToo) {
  Told told;
  EngineLineage lineage(told.events());
  std::vector<OwnedRow> rows;
  {
    auto jit = new_jit(lineage, true);
    auto built = build();
    optimise(*built);
    run(*built, lineage, *jit);
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedObject& object = told.loaded[0];
    EXPECT_EQ(object.loaded.base, llvm::cantFail(jit->lookup("work")).getValue());
    EXPECT_EQ(std::memcmp(object.loaded.code.data(), reinterpret_cast<void*>(object.loaded.base),
                          object.loaded.code.size()),
              0);
    ASSERT_THAT(object.loaded.functions, SizeIs(1));
    EXPECT_EQ(object.loaded.functions[0].size, object.loaded.code.size());
    EXPECT_THAT(object.loaded.stubs, IsEmpty()) << "addresses are whole";
    rows = owned_rows(object.rows, built->plan);
  }
  EXPECT_TRUE(share_the_product(rows));
  EXPECT_THAT(told.removed, ElementsAre(1));
}

TEST(EngineLineageTest, McJitIsHeardOnceItsCodeIsFinal) {
  Told told;
  EngineLineage lineage(told.events());
  auto built = build();
  optimise(*built);
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  const std::vector<std::int64_t> numbers = {3, -5, 7, 11};
  {
    std::string problem;
    llvm::LLVMContext context;
    std::unique_ptr<llvm::ExecutionEngine> engine(
        llvm::EngineBuilder(std::make_unique<llvm::Module>("none", context))
            .setEngineKind(llvm::EngineKind::JIT)
            .setErrorStr(&problem)
            .create());
    ASSERT_NE(engine, nullptr) << problem;
    engine->RegisterJITEventListener(&lineage.mcjit_listener());
    auto emitted = built->lineage->emit(*engine->getTargetMachine());
    ASSERT_TRUE(emitted.ok()) << emitted.error().message;
    ASSERT_TRUE(lineage.expect(*emitted->object, emitted->lineage, kPlan).ok());
    engine->addObjectFile(llvm::cantFail(llvm::object::ObjectFile::createObjectFile(*emitted->object)));
    engine->finalizeObject();
    EXPECT_THAT(told.loaded, IsEmpty());
    lineage.mcjit_finalized();
    ASSERT_THAT(told.loaded, SizeIs(1));
    const LoadedCode& loaded = told.loaded[0].loaded;
    EXPECT_EQ(loaded.base, engine->getFunctionAddress("work"));
    EXPECT_EQ(std::memcmp(loaded.code.data(), reinterpret_cast<void*>(loaded.base), loaded.code.size()), 0);
    EXPECT_EQ(reinterpret_cast<Worked*>(loaded.base)(numbers.data(), 4), expected_work(numbers));
    EXPECT_TRUE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
  }
  EXPECT_THAT(told.removed, ElementsAre(1));
}

TEST(EngineLineageTest, TagsInR15SurviveTheEnginesOwnCode) {
  constexpr std::uint64_t kTag = 0x1234000500060007;
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  Built built({.tags = TagStrategy::kR15});
  auto* function = new_function(*built.module, "work");
  llvm::IRBuilder<llvm::ConstantFolder, EngineInserter> b(*built.context, llvm::ConstantFolder(),
                                                          built.lineage->inserter());
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "entry", function));
  auto task = built.lineage->tasks().enter(kSum);
  auto* before = emit_tag_read(b, TagStrategy::kR15, nullptr);
  auto* called = emit_tagged_call(b, TagStrategy::kR15, nullptr, before, b.getInt64(kTag), built.shared(),
                                  {function->getArg(1)});
  b.CreateRet(called);
  ASSERT_TRUE(built.lineage->begin(*built.module).ok());
  optimise(built);
  ASSERT_TRUE(lineage.add(built.lineage, kPlan).ok());
  llvm::cantFail(
      jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(built.module), std::move(built.context))));
  auto* work = llvm::cantFail(jit->lookup("work")).toPtr<Worked*>();
  EXPECT_EQ(work(nullptr, 1), 1 ^ 0x55);
  EXPECT_EQ(tag_seen, kTag);
}

}  // namespace
}  // namespace tailor::jit
