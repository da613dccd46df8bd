// Computed data addresses against the true ones, on programs that are followed step by step.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/integration/enrich/access_programs.h"
#include "tests/support/access_truth.h"
#include "tests/support/sanitizers.h"

namespace tailor {
namespace {

constexpr double kMostWrong = 0.5;  // percent of the resolved

TEST(OperandTruth, OfProgramsStepByStep) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  AccessTally all, twin;
  std::printf("| program | samples | resolved | wrong | lost |\n");
  for (const AccessProgram& program : access_programs()) {
    const std::span<const std::byte> code = program.code;
    const auto base = reinterpret_cast<std::uint64_t>(code.data());
    const std::vector<TracedInstruction> instructions = instructions_of(code, base);
    const std::uint64_t entry = reinterpret_cast<std::uint64_t>(program.entry);
    const StepOutcome trace = follow_with_ptrace({.begin = base,
                                                  .end = base + code.size(),
                                                  .instructions = instructions,
                                                  .entries = {&entry, 1},
                                                  .steps_per_call = 20'000},
                                                 [&] {
                                                   program.run();
                                                   return true;
                                                 });
    ASSERT_TRUE(trace.finished) << program.name;
    const AccessTally one = judge_accesses(trace.runs, code, base);
    std::printf("| %s | %lu | %lu | %lu | %.1f %% |\n", program.name, one.samples(), one.resolved, one.wrong,
                one.lost_percent());
    for (std::uint64_t at : one.wrong_at) std::printf("  wrong at offset %#lx\n", at);
    EXPECT_GT(one.samples(), 500u) << program.name;
    EXPECT_LE(one.wrong_percent(), kMostWrong) << program.name;
    all.add(one);
    twin.add(judge_accesses(trace.runs, code, base, 3));
  }
  std::printf("all: %lu samples, %lu resolved, %lu wrong (%.3f %% of the resolved), %lu lost (%.1f %%)\n",
              all.samples(), all.resolved, all.wrong, all.wrong_percent(), all.lost, all.lost_percent());
  EXPECT_LT(all.lost_percent(), 60) << "most must not simply be given up";
  EXPECT_GT(twin.wrong_percent(), 10) << "the twin, with registers of three steps before";
}

}  // namespace
}  // namespace tailor
