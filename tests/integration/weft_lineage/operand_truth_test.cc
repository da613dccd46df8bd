// Computed data addresses against the true ones, on all queries that come with weft, followed step by step.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/integration/weft_lineage/traced_query.h"
#include "tests/support/access_truth.h"
#include "tests/support/sanitizers.h"

namespace tailor::weft {
namespace {

constexpr double kMostWrong = 0.5;  // percent of the resolved

class WeftOperandTruth : public testing::TestWithParam<CodeKind> {};

TEST_P(WeftOperandTruth, OfAllQueriesStepByStep) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  auto jit = make_test_jit(GetParam().cpu);
  const std::uint64_t rows = long_tests() ? 400 : 16;
  const std::size_t steps = long_tests() ? 50'000 : 1000;
  AccessTally all, twin;
  std::printf("| query | samples | resolved | wrong | lost |\n");
  for (const NamedQuery& named : lineage_queries()) {
    const TracedQuery traced(named, *jit, GetParam().level, rows, steps);
    ASSERT_TRUE(traced.trace.finished) << named.name;
    const jit::CompiledModule& code = traced.query->code();
    const auto bytes = std::as_bytes(std::span(code.code()));
    const AccessTally one = judge_accesses(traced.trace.runs, bytes, code.base());
    std::printf("| %s | %lu | %lu | %lu | %.1f %% |\n", std::string(named.name).c_str(), one.samples(),
                one.resolved, one.wrong, one.lost_percent());
    for (std::uint64_t at : one.wrong_at) std::printf("  wrong at offset %#lx\n", at);
    EXPECT_LE(one.wrong_percent(), kMostWrong) << named.name;
    all.add(one);
    twin.add(judge_accesses(traced.trace.runs, bytes, code.base(), 3));
  }
  std::printf("| all | %lu | %lu | %lu | %.1f %% |\n", all.samples(), all.resolved, all.wrong,
              all.lost_percent());
  EXPECT_LT(all.lost_percent(), 60) << "most must not simply be given up";
  EXPECT_GT(twin.wrong_percent(), 10) << "the twin, with registers of three steps before";
}

INSTANTIATE_TEST_SUITE_P(Kinds, WeftOperandTruth, testing::ValuesIn(kinds_of_code()),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace tailor::weft
