// The listing says what LLVM's own printer says.
#include "compiler/llvm/listing.h"

#include <gtest/gtest.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/ModuleSlotTracker.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace tailor::jit {
namespace {

// One of each kind that is written without LLVM's help, and of what is left to it.
const char* const kModule = R"(
%pair = type { i64, ptr }
@table = external global [4 x i64]
@"odd name" = external global i64
declare i64 @"rt lookup"(ptr, i64)
declare signext i8 @narrow(i8 signext, ptr noundef)
declare i32 @variadic(ptr, ...)
declare void @touch() nounwind
declare i64 @llvm.read_register.i64(metadata)
declare i32 @personality(...)

define i64 @main(ptr %state, i64 %0, double %scale, <2 x i64> %vector) personality ptr @personality {
entry:
  %slot = alloca i64, align 8
  %many = alloca i64, i32 4, align 16
  %1 = add i64 %0, -7
  %sum = add nuw nsw i64 %1, 9223372036854775807
  %wide = zext i64 %sum to i128
  %big = mul i128 %wide, 170141183460469231731687303715884105727
  %less = lshr exact i64 %sum, 3
  %"quoted name" = sub nsw i64 %less, 1
  %half = fmul double %scale, 5.000000e-01
  %fast = fadd fast double %half, %scale
  %minus = fneg double %fast
  %c = icmp ult i64 %sum, %less
  %d = fcmp olt double %fast, 0.000000e+00
  %e = and i1 %c, true
  %at = getelementptr inbounds %pair, ptr %state, i64 %sum, i32 1
  %plain = getelementptr i8, ptr %at, i64 16
  %p = load ptr, ptr %at, align 8, !invariant.load !0
  %r = load i64, ptr %plain, align 4, !range !1
  %v = load volatile i64, ptr %plain, align 8
  store i64 %v, ptr %p, align 8
  store atomic i64 1, ptr %p release, align 8
  %old = atomicrmw add ptr %p, i64 1 monotonic, align 8
  %t = trunc i64 %sum to i8
  %s = select i1 %c, ptr %p, ptr null
  %q = select i1 %d, ptr inttoptr (i64 4096 to ptr), ptr @"odd name"
  %same = icmp eq ptr %s, %q
  %f = freeze i64 poison
  %n = tail call signext i8 @narrow(i8 signext %t, ptr noundef %p)
  %found = call i64 @"rt lookup"(ptr @table, i64 undef)
  %any = call i32 (ptr, ...) @variadic(ptr %p, i64 1)
  call void @touch() nounwind
  %tag = call i64 @llvm.read_register.i64(metadata !2)
  %indirect = call i64 %p(i64 %tag)
  call void asm sideeffect "nop", ""()
  br i1 %same, label %2, label %last

2:
  %3 = phi i64 [ 0, %entry ], [ %4, %2 ]
  %4 = add i64 %3, 1
  %g = getelementptr i64, ptr getelementptr (i8, ptr @table, i64 8), i64 %4
  %5 = extractvalue { i64, i1 } { i64 1, i1 false }, 0
  %6 = insertvalue %pair zeroinitializer, i64 %5, 0
  switch i64 %4, label %2 [
    i64 1, label %last
    i64 2, label %7
  ]

7:
  %8 = extractelement <2 x i64> %vector, i32 0
  %9 = add <2 x i64> %vector, <i64 1, i64 2>
  invoke void @touch() to label %last unwind label %pad

pad:
  %10 = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %10

last:
  ret i64 %sum
}

define void @nothing() {
  br label %1

1:
  unreachable
}
!0 = !{}
!1 = !{i64 0, i64 10}
!2 = !{!"r15"}
)";

// What LLVM prints, on one line, with what the listing writes out or leaves out.
std::string expected(const llvm::Instruction& instruction, llvm::ModuleSlotTracker& slots, bool own) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  instruction.print(stream, slots);
  stream.flush();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (!own) return text;
  text = std::regex_replace(text, std::regex(R"( #\d+$)"), "");
  text = std::regex_replace(text, std::regex(R"(!invariant\.load !\d+)"), "!invariant.load !{}");
  return std::regex_replace(text, std::regex(R"(metadata !\d+)"), "metadata !{!\"r15\"}");
}

TEST(Listing, SaysWhatLlvmSays) {
  llvm::LLVMContext context;
  llvm::SMDiagnostic problem;
  auto module = llvm::parseAssemblyString(kModule, problem, context);
  ASSERT_NE(module, nullptr) << problem.getMessage().str() << " in line " << problem.getLineNo();
  const std::vector<ListedLine> lines = lines_of(*module, 0);
  std::istringstream listing(listing_of(*module, lines.size()).text().str());
  llvm::ModuleSlotTracker slots(module.get(), /*ShouldInitializeAllMetadata=*/false);
  std::vector<std::string> headings;
  for (const ListedLine& line : lines) {
    std::string text;
    ASSERT_TRUE(std::getline(listing, text));
    if (line.instruction == nullptr) {
      headings.push_back(text);
      continue;
    }
    slots.incorporateFunction(*line.instruction->getFunction());
    const std::string own = expected(*line.instruction, slots, true);
    if (text != expected(*line.instruction, slots, false)) {
      EXPECT_EQ(text, own);
    }
  }
  std::string rest;
  EXPECT_FALSE(std::getline(listing, rest)) << rest;
  EXPECT_EQ(headings, (std::vector<std::string>{
                          "define i64 @main(ptr %state, i64 %0, double %scale, <2 x i64> %vector):", "entry:",
                          "2:", "7:", "pad:", "last:", "define void @nothing():", "0:", "1:"}));
}

}  // namespace
}  // namespace tailor::jit
