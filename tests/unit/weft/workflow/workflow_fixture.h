// Workflows whose functions are LLVM IR, so that tests need no clang.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/weft/workflow/compiled_workflow.h"
#include "compiler/weft/workflow/parser.h"
#include "compiler/weft/workflow/workflow_run.h"
#include "compiler/weft/workflow/workflow_runtime.h"

namespace tailor::weft::workflow {

// Functions that several tests use.
inline constexpr const char* kFunctions = R"(
define void @make(i64 %row, ptr %x, ptr %k) {
  %v = sitofp i64 %row to double
  store double %v, ptr %x, align 8
  %r = srem i64 %row, 4
  store i64 %r, ptr %k, align 8
  ret void
}
define internal double @twice(double %x) noinline optnone {
  %place = alloca double, align 8
  store double %x, ptr %place, align 8
  %again = load double, ptr %place, align 8
  %y = fadd double %again, %x
  ret double %y
}
@factors = internal constant [4 x double] [double 1.0, double 2.0, double 3.0, double 4.0], align 16
define double @scale(double %x, i64 %by) {
  %t = call double @twice(double %x)
  %at = getelementptr inbounds [4 x double], ptr @factors, i64 0, i64 %by
  %b = load double, ptr %at, align 8
  %r = fmul double %t, %b
  ret double %r
}
define zeroext i1 @small(double %x) {
  %c = fcmp olt double %x, 1.000000e+03
  ret i1 %c
}
define double @add(double %a, double %b) {
  %r = fadd double %a, %b
  ret double %r
}
define i64 @count(i64 %a) {
  %r = add i64 %a, 1
  ret i64 %r
}
define i64 @add_counts(i64 %a, i64 %b) {
  %r = add i64 %a, %b
  ret i64 %r
}
define i64 @copies(i64 %k, double %x, ptr %out) {
entry:
  %some = icmp sgt i64 %k, 0
  br i1 %some, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr inbounds double, ptr %out, i64 %i
  store double %x, ptr %at, align 8
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %k
  br i1 %more, label %loop, label %end
end:
  ret i64 %k
}
define void @step(ptr %total) {
  %v = load double, ptr %total, align 8
  %n = fadd double %v, 1.000000e+00
  store double %n, ptr %total, align 8
  ret void
}
define i1 @enough(double %total) {
  %c = fcmp oge double %total, 3.000000e+00
  ret i1 %c
}
define void @add_to(double %x, ptr %total) {
  %v = load double, ptr %total, align 8
  %n = fadd double %v, %x
  store double %n, ptr %total, align 8
  ret void
}
define double @power(double %x) {
  %r = call double @pow(double %x, double 2.000000e+00)
  %s = call double @llvm.sqrt.f64(double %r)
  ret double %s
}
declare double @pow(double, double)
declare double @llvm.sqrt.f64(double)
)";

// The heading of a workflow over 100,000 tuples (x = row, k = row % 4): lines 1 to 7.
inline constexpr const char* kHeading =
    "workflow w\n"
    "let rows_made = 100000\n"
    "input t(x f64, k i64) rows rows_made by make()\n"
    "context sums f64[4]\n"
    "context counts i64[4]\n"
    "context total f64\n"
    "context copied i64\n";

class WorkflowFixture : public testing::Test {
 protected:
  jit::Jit& engine() {
    if (jit_ == nullptr) {
      jit_ = std::move(*jit::Jit::create());
      for (const RuntimeSymbol& symbol : workflow_symbols())
        EXPECT_TRUE(jit_->define(symbol.name, symbol.address).ok());
    }
    return *jit_;
  }

  Result<std::unique_ptr<CompiledWorkflow>> compile(const std::string& text,
                                                    const std::string& functions = kFunctions,
                                                    const WorkflowSettings& settings = {}) {
    auto workflow = parse_workflow(text, "test.wf", {});
    if (!workflow.ok()) return workflow.error();
    const std::vector<UdfImage> images{{"functions.ll", functions, {1, 1}}};
    return CompiledWorkflow::make(std::move(*workflow), images, engine(), settings);
  }

  Result<RunOutcome> run(const CompiledWorkflow& workflow, unsigned workers, const RunOptions& options = {}) {
    WorkerPool pool(workers);
    return run_workflow(workflow, files_, pool, options);
  }

  std::string error_of(const std::string& text, const std::string& functions = kFunctions) {
    auto compiled = compile(text, functions);
    EXPECT_FALSE(compiled.ok());
    return compiled.ok() ? std::string() : compiled.error().message;
  }

  WorkflowFiles files_{"", [](const std::string& path, std::size_t) -> Result<std::string> {
                         return not_found("no file " + path);
                       }};
  std::unique_ptr<jit::Jit> jit_;  // made by engine(); outlives what tests compile with it
};

}  // namespace tailor::weft::workflow
