// Lineage of an engine's modules and objects: kept, copied, damaged, gone.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/Utils/Cloning.h>

#include "compiler/llvm/engine_lineage.h"
#include "tests/unit/llvm/engine_query.h"

namespace tailor::jit {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(EngineModulesTest, AKeptObjectHasItsRowsInAnotherSession) {
  Told told, later;
  std::unique_ptr<Built> built = build();
  {
    EngineLineage lineage(told.events());
    auto jit = new_jit(lineage);
    optimise(*built);
    run(*built, lineage, *jit);
  }
  ASSERT_THAT(told.compiled, SizeIs(1));
  EngineObject& kept = told.compiled[0];
  EngineLineage lineage(later.events());
  auto jit = new_jit(lineage);
  auto buffer = llvm::MemoryBuffer::getMemBufferCopy(kept.object->getBuffer(), "from the cache");
  ASSERT_TRUE(lineage.expect(*buffer, kept.lineage, kPlan + 1).ok());
  const Status twice = lineage.expect(*buffer, kept.lineage, kPlan + 1);
  ASSERT_FALSE(twice.ok());
  EXPECT_THAT(twice.error().message, HasSubstr("from the cache"));
  llvm::cantFail(jit->addObjectFile(std::move(buffer)));
  run_work(*jit);
  ASSERT_THAT(later.loaded, SizeIs(1));
  EXPECT_EQ(later.loaded[0].plan, kPlan + 1);
  EXPECT_EQ(owned_rows(later.loaded[0].rows, built->plan), owned_rows(told.loaded[0].rows, built->plan));
}

TEST(EngineModulesTest, RowsOfAnotherObjectAreRefused) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  run(*built, lineage, *jit);
  ASSERT_THAT(told.compiled, SizeIs(1));
  const EngineObject& kept = told.compiled[0];
  std::string bytes = kept.object->getBuffer().str();
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  const auto other = llvm::MemoryBuffer::getMemBufferCopy(bytes, "other");
  EXPECT_THAT(lineage.expect(*other, kept.lineage, kPlan).error().message,
              HasSubstr("belongs to another object"));
  for (const std::string& damaged : {std::string(), kept.lineage.substr(0, 10), kept.lineage + "\xFF",
                                     kept.lineage.substr(0, kept.lineage.size() - 1)}) {
    EXPECT_FALSE(lineage.expect(*kept.object, damaged, kPlan).ok()) << damaged.size();
  }
}

TEST(EngineModulesTest, ACopyOfAModuleHasNoLineage) {
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  auto built = build();
  ASSERT_TRUE(lineage.add(built->lineage, kPlan).ok());
  built->module = llvm::CloneModule(*built->module);
  llvm::cantFail(
      jit->addIRModule(llvm::orc::ThreadSafeModule(std::move(built->module), std::move(built->context))));
  run_work(*jit);
  EXPECT_THAT(told.loaded, IsEmpty());
}

TEST(EngineModulesTest, AnErasedInstructionLeavesNoOwnerBehind) {
  Built built;
  InstructionLog log(built.lineage->tasks());
  EngineLog owners(built.lineage->tasks());
  auto* function = new_function(*built.module, "work");
  llvm::IRBuilder<llvm::ConstantFolder, EngineInserter> b(*built.context, llvm::ConstantFolder(),
                                                          EngineInserter(&owners));
  b.SetInsertPoint(llvm::BasicBlock::Create(*built.context, "entry", function));
  auto task = built.lineage->tasks().enter(kSum);
  auto* erased = llvm::cast<llvm::Instruction>(b.CreateAdd(function->getArg(1), b.getInt64(1)));
  auto* kept = b.CreateRet(function->getArg(1));
  erased->eraseFromParent();
  owners.move_to(log);
  ASSERT_THAT(log.owners(), SizeIs(1));
  EXPECT_EQ(log.owners().begin()->first, kept);
}

TEST(EngineModulesTest, TheCallbacksMayOutliveTheModuleAndHearOfOthers) {
  llvm::PassInstrumentationCallbacks callbacks;
  llvm::PassBuilder builder(nullptr, {}, {}, &callbacks);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  auto other = build();
  ASSERT_TRUE(other->lineage->observe(builder).ok());
  {
    auto gone = build();
    ASSERT_TRUE(gone->lineage->observe(builder).ok());
  }
  auto built = build();
  ASSERT_TRUE(built->lineage->observe(builder).ok());
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O1).run(*built->module, modules);
  Told told;
  EngineLineage lineage(told.events());
  auto jit = new_jit(lineage);
  run(*built, lineage, *jit);
  ASSERT_THAT(told.loaded, SizeIs(1));
  EXPECT_TRUE(share_the_product(owned_rows(told.loaded[0].rows, built->plan)));
}

TEST(EngineModulesTest, MisuseIsSaid) {
  Built built;
  llvm::PassBuilder builder;
  EXPECT_THAT(built.lineage->observe(builder).error().message, HasSubstr("has no callbacks"));
  llvm::PassInstrumentationCallbacks callbacks;
  EXPECT_THAT(built.lineage->observe(callbacks).error().message, HasSubstr("begin() was not called"));
  Told told;
  EngineLineage lineage(told.events());
  EXPECT_THAT(lineage.add(built.lineage, kPlan).error().message, HasSubstr("begin() was not called"));
  auto begun = build();
  EXPECT_THAT(begun->lineage->begin(*begun->module).error().message, HasSubstr("called before"));
}

}  // namespace
}  // namespace tailor::jit
