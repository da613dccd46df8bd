// Cycles a tuple, predicted for one CPU, whose latencies are known: on Skylake a multiplication of doubles
// takes 4 cycles, a division 13 or 14, and 4 cycles pass before the next division begins.
#include "compiler/llvm/loop_cycles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>

#include "compiler/llvm/target_pool.h"

namespace tailor::jit {
namespace {

using testing::HasSubstr;

// A loop over %n doubles at %x and %k whole numbers, in which %a goes on to the next tuple as %m. `body` is
// from the first block on to "last", which begins with it.
std::string loop_over_tuples(const std::string& name, const std::string& body) {
  return "define void @" + name +
         "(ptr noalias %x, ptr noalias %k, ptr noalias %out, i64 %n) {\n"
         "entry:\n  br label %loop\n"
         "loop:\n"
         "  %i = phi i64 [ 0, %entry ], [ %next, %last ]\n"
         "  %a = phi double [ 1.0, %entry ], [ %m, %last ]\n"
         "  %p = getelementptr inbounds double, ptr %x, i64 %i\n"
         "  %v = load double, ptr %p, align 8\n" +
         body +
         "  %next = add nuw i64 %i, 1\n"
         "  %more = icmp ult i64 %next, %n\n"
         "  br i1 %more, label %loop, label %end\n"
         "end:\n  store double %m, ptr %out, align 8\n  ret void\n}\n";
}

// The same, where %a divides itself %times times.
std::string divided(const std::string& times) {
  return "  br label %inner\n"
         "inner:\n"
         "  %j = phi i64 [ 0, %loop ], [ %j1, %inner ]\n"
         "  %b = phi double [ %a, %loop ], [ %b1, %inner ]\n"
         "  %b1 = fdiv double %b, %v\n"
         "  %j1 = add nuw nsw i64 %j, 1\n"
         "  %again = icmp slt i64 %j1, " +
         times + "\n  br i1 %again, label %inner, label %last\nlast:\n  %m = phi double [ %b1, %inner ]\n";
}

std::map<std::string, LoopCycles> predict(const std::string& text) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(text, problem, context);
  EXPECT_NE(module, nullptr) << problem.getMessage().str();
  if (module == nullptr) return {};
  auto pool = TargetPool::create("skylake");
  EXPECT_TRUE(pool.ok());
  auto target = (*pool)->take(OptLevel::kO2);
  EXPECT_TRUE(target.ok());
  module->setDataLayout((*target)->createDataLayout());
  module->setTargetTriple((*target)->getTargetTriple().str());
  llvm::PassBuilder builder(target->get());
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(*module, modules);
  auto predicted = predict_loops(*module, **target, functions);
  EXPECT_TRUE(predicted.ok()) << predicted.error().message;
  return predicted.ok() ? *predicted : std::map<std::string, LoopCycles>();
}

TEST(LoopCycles, AChainOverTuplesTakesItsLatencies) {
  const auto cycles = predict(
      loop_over_tuples("chain",
                       "  br label %last\nlast:\n  %b = fmul double %a, %v\n  %c = fmul double %b, %v\n"
                       "  %m = fmul double %c, %v\n"));
  const LoopCycles& chain = cycles.at("chain");
  ASSERT_EQ(chain.unknown, "");
  EXPECT_EQ(chain.low, chain.high);
  EXPECT_EQ(chain.calls, 0);
  // Units alone, without what waits for what, would be 1.5 cycles.
  EXPECT_NEAR(chain.low, 12, 0.5);
}

// Four doubles fit into a vector, and a store a cycle is the most.
TEST(LoopCycles, VectorsDivideThePassByTheirTuples) {
  const auto cycles = predict(
      "define void @scale(ptr noalias %x, ptr noalias %out, i64 %n) {\n"
      "entry:\n  br label %loop\n"
      "loop:\n"
      "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
      "  %p = getelementptr inbounds double, ptr %x, i64 %i\n"
      "  %v = load double, ptr %p, align 8\n"
      "  %w = fmul double %v, 3.0\n"
      "  %q = getelementptr inbounds double, ptr %out, i64 %i\n"
      "  store double %w, ptr %q, align 8\n"
      "  %next = add nuw i64 %i, 1\n"
      "  %more = icmp ult i64 %next, %n\n"
      "  br i1 %more, label %loop, label %end\n"
      "end:\n  ret void\n}\n");
  const LoopCycles& scale = cycles.at("scale");
  ASSERT_EQ(scale.unknown, "");
  EXPECT_GE(scale.low, 0.25);
  EXPECT_LT(scale.high, 1);
}

TEST(LoopCycles, BranchesGiveARange) {
  const auto cycles = predict(
      loop_over_tuples("branch",
                       "  %c = fcmp ogt double %v, 1.0\n  br i1 %c, label %then, label %last\n"
                       "then:\n  %t = fdiv double %a, %v\n  %u = fdiv double %t, %v\n  br label %last\n"
                       "last:\n  %m = phi double [ %a, %loop ], [ %u, %then ]\n"));
  const LoopCycles& branch = cycles.at("branch");
  ASSERT_EQ(branch.unknown, "");
  EXPECT_LT(branch.low, 10);
  EXPECT_NEAR(branch.high, 27, 2);
}

TEST(LoopCycles, LoopsInsideCountWithTheirPasses) {
  const auto cycles = predict(loop_over_tuples("often", divided("300")));
  const LoopCycles& often = cycles.at("often");
  ASSERT_EQ(often.unknown, "");
  EXPECT_GE(often.low, 300 * 13);
  EXPECT_LE(often.high, 300 * 14 + 30);
}

// Only some of its passes are simulated.
TEST(LoopCycles, LongLoopsInsideCountWithAllTheirPasses) {
  const auto cycles =
      predict(loop_over_tuples("long", divided("100000")) + loop_over_tuples("longer", divided("200000")));
  const LoopCycles& once = cycles.at("long");
  const LoopCycles& twice = cycles.at("longer");
  ASSERT_EQ(once.unknown, "");
  ASSERT_EQ(twice.unknown, "");
  EXPECT_GE(once.low, 100'000 * 13.0);
  EXPECT_LE(once.high, 100'000 * 14.0 + 30);
  EXPECT_NEAR(twice.high / once.high, 2, 0.01);
}

TEST(LoopCycles, CallsInLongLoopsAreAllCounted) {
  const auto cycles = predict(loop_over_tuples("called",
                                               "  br label %inner\ninner:\n"
                                               "  %j = phi i64 [ 0, %loop ], [ %j1, %inner ]\n"
                                               "  %b = phi double [ %a, %loop ], [ %m, %inner ]\n"
                                               "  %m = call double @sin(double %b)\n"
                                               "  %j1 = add nuw nsw i64 %j, 1\n"
                                               "  %again = icmp slt i64 %j1, 100000\n"
                                               "  br i1 %again, label %inner, label %last\nlast:\n") +
                              "declare double @sin(double)\n");
  ASSERT_EQ(cycles.at("called").unknown, "");
  EXPECT_EQ(cycles.at("called").calls, 100'000);
}

TEST(LoopCycles, WhatCannotBePredictedSaysWhy) {
  const auto cycles = predict(loop_over_tuples("by_data",
                                               "  %at = getelementptr inbounds i64, ptr %k, i64 %i\n"
                                               "  %times = load i64, ptr %at, align 8\n" +
                                                   divided("%times")) +
                              loop_over_tuples("calls",
                                               "  br label %last\nlast:\n  %e = call double @exp(double %v)\n"
                                               "  %m = fmul double %a, %e\n") +
                              "declare double @exp(double)\n"
                              "define void @copy(ptr noalias %x, ptr noalias %out, i64 %n) {\n"
                              "entry:\n  br label %loop\n"
                              "loop:\n"
                              "  %i = phi i64 [ 0, %entry ], [ %next, %loop ]\n"
                              "  %p = getelementptr inbounds double, ptr %x, i64 %i\n"
                              "  %v = load double, ptr %p, align 8\n"
                              "  %q = getelementptr inbounds double, ptr %out, i64 %i\n"
                              "  store double %v, ptr %q, align 8\n"
                              "  %next = add nuw i64 %i, 1\n"
                              "  %more = icmp ult i64 %next, %n\n"
                              "  br i1 %more, label %loop, label %end\n"
                              "end:\n  ret void\n}\n"
                              "define double @no_loop(double %x) {\n  ret double %x\n}\n");
  EXPECT_THAT(cycles.at("by_data").unknown, HasSubstr("a number of passes that the code does not say"));
  EXPECT_EQ(cycles.at("calls").unknown, "");
  EXPECT_EQ(cycles.at("calls").calls, 1);
  EXPECT_THAT(cycles.at("copy").unknown, HasSubstr("copies or fills the memory of all tuples at once"));
  EXPECT_THAT(cycles.at("no_loop").unknown, HasSubstr("no loop"));
}

}  // namespace
}  // namespace tailor::jit
