// What users' functions may be, and what is said of those that may not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <llvm/IR/LLVMContext.h>

#include "compiler/weft/workflow/host_speed.h"
#include "compiler/weft/workflow/signature.h"
#include "compiler/weft/workflow/udf_analyser.h"
#include "compiler/weft/workflow/udf_bound.h"
#include "compiler/weft/workflow/udf_check.h"
#include "tests/unit/weft/workflow/workflow_fixture.h"

namespace tailor::weft::workflow {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// A pipeline that calls @f(double) -> double, in line 9.
std::string calling_f() {
  return std::string(kHeading) + "from t\nmap f(x) -> y f64\nreduce add(y) into total\nend\n";
}

std::string with_f(const std::string& body, const std::string& more = "") {
  return std::string(kFunctions) + "define double @f(double %x) {\n" + body + "}\n" + more;
}

class WorkflowUdf : public WorkflowFixture {};

TEST_F(WorkflowUdf, GoodFunctionsAreTaken) {
  auto compiled = compile(calling_f(), with_f("  %y = call double @power(double %x)\n  ret double %y\n"));
  EXPECT_TRUE(compiled.ok()) << compiled.error().message;
}

TEST_F(WorkflowUdf, UnknownFunctionsAreNamedWithWhatTheyMustBe) {
  EXPECT_EQ(error_of(calling_f()),
            "test.wf:9:5: no file of functions defines f, which must be: extern \"C\" double f(double x)");
  EXPECT_THAT(error_of(calling_f(),
                       std::string(kFunctions) + "define double @_Z1fd(double %x) {\n  ret double %x\n}\n"),
              HasSubstr("functions.ll has f(double): write extern \"C\" before it"));
}

TEST_F(WorkflowUdf, TypesMustFit) {
  const std::string takes_whole =
      std::string(kFunctions) + "define double @f(i64 %x) {\n  ret double 0.0\n}\n";
  EXPECT_THAT(
      error_of(calling_f(), takes_whole),
      HasSubstr("test.wf:9:5: f in functions.ll does not fit its operator, which needs: extern \"C\" double "
                "f(double x). It has the parameters (int of 64 bits)"));
  const std::string gives_nothing = std::string(kFunctions) + "define void @f(double %x) {\n  ret void\n}\n";
  EXPECT_THAT(error_of(calling_f(), gives_nothing), HasSubstr("does not fit its operator"));
}

TEST_F(WorkflowUdf, RecursionIsRefused) {
  EXPECT_THAT(error_of(calling_f(), with_f("  %y = call double @f(double %x)\n  ret double %y\n")),
              HasSubstr("f in functions.ll calls itself (f > f)"));
  EXPECT_THAT(error_of(calling_f(), with_f("  %y = call double @g(double %x)\n  ret double %y\n",
                                           "define double @g(double %x) {\n  %y = call double @f(double %x)\n"
                                           "  ret double %y\n}\n")),
              HasSubstr("calls itself (f > g > f)"));
}

TEST_F(WorkflowUdf, OnlyWhatComputesMayBeCalled) {
  const std::string puts =
      with_f("  %n = call i32 @puts(ptr null)\n  ret double %x\n", "declare i32 @puts(ptr)\n");
  EXPECT_THAT(error_of(calling_f(), puts), StartsWith("test.wf:9:5: f in functions.ll calls puts. "));
  // Not under the name of one that is allowed, with another type.
  const std::string wrong =
      with_f("  %y = call double @exp(ptr null)\n  ret double %y\n", "declare double @exp(ptr)\n");
  EXPECT_THAT(error_of(calling_f(), wrong), HasSubstr("calls exp. "));
  const std::string trap =
      with_f("  call void @llvm.trap()\n  ret double %x\n", "declare void @llvm.trap()\n");
  EXPECT_THAT(error_of(calling_f(), trap), HasSubstr("uses llvm.trap"));
  const std::string assembly = with_f("  call void asm sideeffect \"nop\", \"\"()\n  ret double %x\n");
  EXPECT_THAT(error_of(calling_f(), assembly), HasSubstr("has inline assembly"));
  const std::string indirect =
      with_f("  %p = load ptr, ptr @table\n  %y = call double %p(double %x)\n  ret double %y\n",
             "@table = internal constant ptr @power\n");
  EXPECT_THAT(error_of(calling_f(), indirect), HasSubstr("f in functions.ll "));
}

TEST_F(WorkflowUdf, NothingOutlivesACall) {
  const std::string global =
      with_f("  store double %x, ptr @last\n  ret double %x\n", "@last = internal global double 0.0\n");
  EXPECT_THAT(error_of(calling_f(), global), HasSubstr("uses the global variable last"));
  const std::string atomic =
      with_f("  %place = alloca i64\n  %o = atomicrmw add ptr %place, i64 1 seq_cst\n  ret double %x\n");
  EXPECT_THAT(error_of(calling_f(), atomic), HasSubstr("has atomic operations"));
  const std::string large = with_f("  %place = alloca [1000000 x double]\n  ret double %x\n");
  EXPECT_THAT(error_of(calling_f(), large), HasSubstr("KiB of stack"));
}

TEST_F(WorkflowUdf, LinesOfTheSourceAreNamed) {
  const std::string lined = with_f(
      "  %n = call i32 @puts(ptr null), !dbg !7\n  ret double %x\n",
      "declare i32 @puts(ptr)\n!llvm.dbg.cu = !{!0}\n!llvm.module.flags = !{!2}\n"
      "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: LineTablesOnly)\n"
      "!1 = !DIFile(filename: \"f.c\", directory: \"\")\n!2 = !{i32 2, !\"Debug Info Version\", i32 3}\n"
      "!5 = !DISubroutineType(types: !6)\n!6 = !{}\n"
      "!7 = !DILocation(line: 42, scope: !8)\n"
      "!8 = distinct !DISubprogram(name: \"f\", file: !1, line: 40, type: !5, unit: !0, spFlags: "
      "DISPFlagDefinition)\n");
  EXPECT_THAT(error_of(calling_f(), lined), HasSubstr("f in functions.ll:42 calls puts"));
}

TEST_F(WorkflowUdf, IrOfANewerLlvmIsRefused) {
  EXPECT_THAT(
      error_of(calling_f(), with_f("  ret double %x\n",
                                   "!llvm.ident = !{!0}\n!0 = !{!\"clang version 22.1.0 (some build)\"}\n")),
      StartsWith("test.wf:1:1: functions.ll is IR of LLVM 22.1.0. weft reads the IR of LLVM 19 and older"));
  EXPECT_THAT(error_of(calling_f(), with_f("  ret double %x\n", "declare void @g(ptr captures(none))\n")),
              HasSubstr("functions.ll seems to be IR of an LLVM newer than 19: it has \"captures(\""));
  EXPECT_THAT(error_of(calling_f(), with_f("  ret doubl %x\n")),
              HasSubstr("cannot be read as LLVM IR: line "));
  EXPECT_THAT(
      error_of(calling_f(), "target triple = \"aarch64-unknown-linux\"\n" + with_f("  ret double %x\n")),
      HasSubstr("for another machine than x86-64"));
  EXPECT_EQ(image_version("no IR at all"), "");
}

TEST_F(WorkflowUdf, ConstantsMustFitTheirParameter) {
  const std::string text =
      std::string(kHeading) + "from t\nmap f(x, 5000000000) -> y f64\nreduce add(y) into total\nend\n";
  EXPECT_THAT(
      error_of(text, std::string(kFunctions) + "define double @f(double %x, i32 %n) {\n  ret double %x\n}\n"),
      StartsWith("test.wf:9:10: the function takes a number of 32 bits here"));
}

TEST_F(WorkflowUdf, CountsWhatAFunctionDoes) {
  llvm::LLVMContext context;
  const std::vector<UdfImage> images{{"functions.ll", kFunctions, {1, 1}}};
  auto library = UdfLibrary::load("test.wf", images, context);
  ASSERT_TRUE(library.ok()) << library.error().message;
  const UdfCounts scale = count_udf(*library, *library->find("scale"));
  EXPECT_EQ(scale.instructions, 10u) << "with those of twice";
  EXPECT_EQ(scale.loads, 2u);
  EXPECT_EQ(scale.stores, 1u);
  EXPECT_FALSE(scale.loops);
  const UdfCounts copies = count_udf(*library, *library->find("copies"));
  EXPECT_TRUE(copies.loops);
  EXPECT_EQ(copies.branches, 2u);
  EXPECT_EQ(count_udf(*library, *library->find("power")).math_calls, 1u) << "a root is one instruction";
  EXPECT_EQ(library->find("twice"), nullptr) << "it is not for others";
}

// A row's number is in no memory: a loop that stores it copies none.
TEST_F(WorkflowUdf, TheAnalyserCountsRows) {
  tagging::DictionaryBuilder plan("analysis", {"operator", "udf", "ir"});
  jit::QueryModule module(plan, {.name = "analysis"});
  const std::vector<UdfImage> images{
      {"functions.ll",
       std::string(kFunctions) +
           "define void @number(i64 %row, ptr %x) {\n  store i64 %row, ptr %x, align 8\n  ret void\n}\n",
       {1, 1}}};
  auto library = UdfLibrary::load("test.wf", images, module.context());
  ASSERT_TRUE(library.ok()) << library.error().message;
  library->prepare();
  UdfAnalyser analyser(module, *library);
  using Kind = ParameterSpec::Kind;
  analyser.add("number", *library->find("number"),
               {SignatureSpec::Returns::kNothing,
                Scalar::kF64,
                {{Kind::kRow, Scalar::kI64, "row"}, {Kind::kWritable, Scalar::kI64, "x", 1, {}, true}}});
  auto status = analyser.run();
  ASSERT_TRUE(status.ok()) << status.error().message;
  const UdfVerdict& number = *analyser.verdict("number");
  EXPECT_EQ(number.cycles.unknown, "");
  EXPECT_TRUE(number.vectorised) << number.said;
  EXPECT_GT(number.cycles.low, 0);
  EXPECT_EQ(number.loaded_bytes, 0u);
  EXPECT_EQ(number.stored_bytes, 8u);
}

// LLVM is asked about a function as an operator calls it: one that only multiplies fits into vectors, one
// whose each value depends on the one before does not.
TEST_F(WorkflowUdf, TheAnalyserSaysWhetherVectorsAreUsed) {
  tagging::DictionaryBuilder plan("analysis", {"operator", "udf", "ir"});
  jit::QueryModule module(plan, {.name = "analysis"});
  const std::string functions =
      std::string(kFunctions) +
      "define double @three(double %x) {\n  %y = fmul double %x, 3.0\n  ret double %y\n}\n";
  const std::vector<UdfImage> images{{"functions.ll", functions, {1, 1}}};
  auto library = UdfLibrary::load("test.wf", images, module.context());
  ASSERT_TRUE(library.ok()) << library.error().message;
  library->prepare();
  UdfAnalyser analyser(module, *library);
  using Kind = ParameterSpec::Kind;
  analyser.add(
      "three", *library->find("three"),
      {SignatureSpec::Returns::kValue, Scalar::kF64, {{Kind::kValue, Scalar::kF64, "x", 0, {}, true}}});
  // All tuples add to one place.
  analyser.add("add_to", *library->find("add_to"),
               {SignatureSpec::Returns::kNothing,
                Scalar::kF64,
                {{Kind::kValue, Scalar::kF64, "x"}, {Kind::kWritable, Scalar::kF64, "total"}}});
  auto status = analyser.run();
  ASSERT_TRUE(status.ok()) << status.error().message;
  ASSERT_NE(analyser.verdict("three"), nullptr);
  EXPECT_TRUE(analyser.verdict("three")->vectorised) << analyser.verdict("three")->said;
  EXPECT_THAT(analyser.verdict("three")->said, HasSubstr("vectorized loop"));
  ASSERT_NE(analyser.verdict("add_to"), nullptr);
  EXPECT_FALSE(analyser.verdict("add_to")->vectorised);
  EXPECT_NE(analyser.verdict("add_to")->said, "");
  EXPECT_EQ(analyser.verdict("other"), nullptr);
  EXPECT_NE(analyser.cpu(), "");
  EXPECT_EQ(analyser.verdict("three")->loaded_bytes, 8u);
  EXPECT_EQ(analyser.verdict("three")->stored_bytes, 0u) << "what a map makes is in no input";
  EXPECT_EQ(analyser.verdict("add_to")->loaded_bytes, 0u);
  // A sum waits for the one before, and vectors do not.
  const jit::LoopCycles& three = analyser.verdict("three")->cycles;
  const jit::LoopCycles& add_to = analyser.verdict("add_to")->cycles;
  EXPECT_EQ(three.unknown, "");
  EXPECT_EQ(add_to.unknown, "");
  EXPECT_GT(three.low, 0);
  EXPECT_LT(three.high, add_to.low);
}

UdfVerdict predicted(double low, double high, std::uint64_t loaded, std::uint64_t stored = 0) {
  UdfVerdict out;
  out.cycles.low = low;
  out.cycles.high = high;
  out.loaded_bytes = loaded;
  out.stored_bytes = stored;
  return out;
}

// 2 cycles and 4 bytes a nanosecond.
TEST(WorkflowBound, IsWhatTakesLonger) {
  const HostSpeed host{2, 4, 1000};
  EXPECT_EQ(judge_bound(predicted(10, 12, 16), host, 0).bound, Bound::kComputing) << "5 ns, 4 ns";
  EXPECT_EQ(judge_bound(predicted(4, 6, 16), host, 0).bound, Bound::kMemory) << "3 ns, 4 ns";
  EXPECT_EQ(judge_bound(predicted(4, 12, 16), host, 0).bound, Bound::kUnclear) << "2 to 6 ns, 4 ns";
  EXPECT_EQ(judge_bound(predicted(10, 12, 0, 16), host, 0).bound, Bound::kMemory) << "written lines are read";
  EXPECT_EQ(judge_bound(predicted(1, 1, 0), host, 0).bound, Bound::kComputing);
  const BoundVerdict memory = judge_bound(predicted(4, 6, 16), host, 2000);
  EXPECT_EQ(memory.bound, Bound::kMemory);
  EXPECT_EQ(memory.reason, "a tuple takes 2.00 to 3.00 ns to compute and 4.00 ns to load");
}

TEST(WorkflowBound, WhatIsNotKnownIsNoVerdict) {
  const HostSpeed host{2, 4, 1000};
  EXPECT_EQ(judge_bound(predicted(4, 6, 16), host, 1000).bound, Bound::kUnclear) << "it may be cached";
  EXPECT_EQ(judge_bound(predicted(10, 12, 16), host, 1000).bound, Bound::kComputing) << "cached or not";
  EXPECT_EQ(judge_bound(predicted(4, 6, 16), {0, 4, 0}, 0).bound, Bound::kUnclear);
  EXPECT_EQ(judge_bound(predicted(4, 6, 16), {2, 0, 0}, 0).bound, Bound::kUnclear);
  UdfVerdict calls = predicted(4, 6, 16);
  calls.cycles.calls = 1;
  EXPECT_EQ(judge_bound(calls, host, 0).bound, Bound::kUnclear);
  EXPECT_EQ(cycles_text(calls.cycles), "4.00 to 6.00 cycles, and what 1 calls take, of which no model knows");
  UdfVerdict unknown = predicted(0, 0, 16);
  unknown.cycles.unknown = "it has no loop";
  EXPECT_EQ(judge_bound(unknown, host, 0).bound, Bound::kUnclear);
  EXPECT_THAT(judge_bound(unknown, host, 0).reason, HasSubstr("it has no loop"));
  EXPECT_EQ(cycles_text(unknown.cycles), "");
}

// What is predicted: 100 cycles to compute, or 160 to load.
TEST(WorkflowBound, VerdictsAreHeldAgainstSamples) {
  const HostSpeed host{2, 4, 1000};
  const auto held = [&](Bound bound, double low, double high) {
    return held_against(predicted(100, 100, 320), bound, host, low, high);
  };
  EXPECT_EQ(held(Bound::kComputing, 80, 120), "holds");
  EXPECT_EQ(held(Bound::kComputing, 126, 140), "wrong: it takes longer than to compute");
  EXPECT_EQ(held(Bound::kComputing, 50, 74), "wrong: it takes less than predicted");
  EXPECT_EQ(held(Bound::kComputing, 80, 140), "open: there are too few samples");
  EXPECT_EQ(held(Bound::kMemory, 150, 190), "holds");
  EXPECT_EQ(held(Bound::kMemory, 201, 240), "wrong: it takes longer than to load");
  EXPECT_THAT(held(Bound::kMemory, 90, 110), StartsWith("open: it takes less than to load"));
  EXPECT_EQ(held(Bound::kUnclear, 80, 120), "open: there is no verdict");
  UdfVerdict calls = predicted(100, 100, 320);
  calls.cycles.calls = 2;
  EXPECT_EQ(held_against(calls, Bound::kComputing, host, 200, 300), "open: what calls take is not predicted");
}

// A core does some cycles in a nanosecond, and more from its registers than from memory.
TEST(WorkflowBound, TheHostIsMeasured) {
  const HostSpeed host = measure_host(1);
  EXPECT_GT(host.cycles_per_ns, 0.2);
  EXPECT_LT(host.cycles_per_ns, 10);
  EXPECT_LT(host.bytes_per_ns, 32 * host.cycles_per_ns) << "no core adds up more words in a cycle";
  // However large the caches are.
  ASSERT_GT(host.cache_bytes, 0u);
  EXPECT_GT(host.bytes_per_ns, 0);
}

TEST(WorkflowSignature, FieldsOfInputsAreInMemory) {
  auto workflow = parse_workflow(
      std::string(kHeading) + "from t\nmap f(x, copied) -> y f64\nreduce g(y, x) into total\nend\n",
      "test.wf", {});
  ASSERT_TRUE(workflow.ok()) << workflow.error().message;
  std::vector<bool> streamed;
  visit_functions(*workflow, [&](const std::string&, Place, const SignatureSpec& signature) {
    for (const ParameterSpec& each : signature.parameters) streamed.push_back(each.is_streamed);
  });
  // make(row, x, k), f(x, copied), g(total, y, x)
  EXPECT_THAT(streamed, testing::ElementsAre(false, true, true, true, false, false, false, true));
}

TEST(WorkflowSignature, IsShownAsC) {
  auto workflow =
      parse_workflow(std::string(kHeading) +
                         "from t\nflatmap f(x, 2, counts) -> a f64[3], b i32 at most 4\n"
                         "reduce g(a) by k into sums combine c\nupdate h(b, total) into total\nend\n"
                         "loop l 2 until u(total)\nupdate o(total, copied) into total\nend\n",
                     "test.wf", {});
  ASSERT_TRUE(workflow.ok()) << workflow.error().message;
  std::vector<std::string> seen;
  visit_functions(*workflow, [&](const std::string& function, Place, const SignatureSpec& signature) {
    seen.push_back(c_declaration(function, signature));
  });
  EXPECT_THAT(
      seen, testing::ElementsAre(
                "extern \"C\" void make(int64_t row, double* x, int64_t* k)",
                "extern \"C\" int64_t f(double x, int64_t constant1, const int64_t* counts, double* a, "
                "int32_t* b)",
                "extern \"C\" double g(double sums, const double* a)",
                "extern \"C\" double c(double a, double b)", "extern \"C\" void h(int32_t b, double* total)",
                "extern \"C\" void o(double* total, int64_t copied)", "extern \"C\" bool u(double total)"));
}

}  // namespace
}  // namespace tailor::weft::workflow
