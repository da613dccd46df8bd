// How much of optimised code the row tables explain, and how well lost locations are repaired, over pipelines
// of random shape.
#include <gtest/gtest.h>

#include <set>

#include "compiler/llvm/jit.h"
#include "tests/support/synthetic_query.h"

namespace tailor::jit {
namespace {

using tagging::RowFlag;

extern "C" void* synthetic_group(void* table, std::int64_t) {
  return table;
}
extern "C" void synthetic_emit(std::int64_t, std::int64_t) {}

constexpr unsigned kQueries = 20;

// Where the linker puts its stubs for far calls differs from link to link.
std::string without_call_targets(std::string code) {
  for (std::size_t i = 0; i + 5 <= code.size(); ++i) {
    if (code[i] == '\xE8') code.replace(i + 1, 4, 4, '\0');
  }
  return code;
}

class CoverageTest : public ::testing::TestWithParam<OptLevel> {
 protected:
  CoverageTest() : jit_(std::move(*Jit::create())) {
    EXPECT_TRUE(jit_->define("synthetic_group", reinterpret_cast<void*>(&synthetic_group)).ok());
    EXPECT_TRUE(jit_->define("synthetic_emit", reinterpret_cast<void*>(&synthetic_emit)).ok());
  }

  std::unique_ptr<CompiledModule> compile(unsigned seed, RepairTrial* trial = nullptr, bool lineage = true) {
    plan_ = std::make_unique<tagging::DictionaryBuilder>("synthetic",
                                                         std::vector<std::string>{"operator", "task", "ir"});
    add_synthetic_plan(*plan_);
    QueryModule module(*plan_,
                       {.name = "synthetic",
                        .tags = TagStrategy::kR15,
                        .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
                        .lineage = lineage});
    build_synthetic_query(module, "pipeline", seed);
    auto sealed = module.seal();
    if (!sealed) ADD_FAILURE() << sealed.error().message;
    auto code = jit_->compile(std::move(*sealed), {.level = GetParam(), .trial = trial});
    if (!code) ADD_FAILURE() << code.error().message;
    return std::move(*code);
  }

  std::set<ComponentId> tasks(const std::vector<ComponentId>& ids) const {
    std::set<ComponentId> tasks;
    for (ComponentId id : ids) {
      for (ComponentId task : plan_->owners(2, id)) tasks.insert(task);
    }
    return tasks;
  }

  std::unique_ptr<Jit> jit_;
  std::unique_ptr<tagging::DictionaryBuilder> plan_;
};

TEST_P(CoverageTest, EveryByteHasAnOwnerOrIsPrologue) {
  std::uint64_t total = 0;
  std::uint64_t bytes[5] = {};
  for (unsigned seed = 1; seed <= kQueries; ++seed) {
    auto code = compile(seed);
    auto coverage = coverage_of(code->rows().rows(), static_cast<std::uint32_t>(code->code().size()));
    total += code->code().size();
    for (int i = 0; i < 5; ++i) bytes[i] += coverage.bytes[i];
  }
  auto share = [&](RowFlag flag) {
    return static_cast<double>(bytes[static_cast<int>(flag)]) / static_cast<double>(total);
  };
  std::printf("exact %.3f inferred %.3f shared %.3f prologue %.3f unmapped %.3f of %lu bytes\n",
              share(RowFlag::kExact), share(RowFlag::kInferred), share(RowFlag::kShared),
              share(RowFlag::kPrologue), share(RowFlag::kUnmapped), total);
  EXPECT_EQ(bytes[static_cast<int>(RowFlag::kUnmapped)], 0u);
  // The functions are a third of a kilobyte each, and save six registers.
  EXPECT_LT(share(RowFlag::kPrologue), 0.09);
  EXPECT_GT(share(RowFlag::kExact), 0.45);
}

TEST_P(CoverageTest, RepairFindsTheTaskOfHiddenLocations) {
  std::size_t right = 0, total = 0;
  for (unsigned seed = 1; seed <= 4 * kQueries; ++seed) {
    RepairTrial trial{.seed = seed, .hidden_fraction = 0.1, .guesses = {}};
    compile(1 + seed % kQueries, &trial);
    for (const auto& guess : trial.guesses) {
      ++total;
      if (tasks(guess.recorded) == tasks(guess.inferred)) ++right;
    }
  }
  ASSERT_GT(total, 100u);
  double share = static_cast<double>(right) / static_cast<double>(total);
  std::printf("%zu of %zu hidden locations right: %.3f\n", right, total, share);
  // Without optimisation every value passes through memory: little is left to infer from.
  EXPECT_GE(share, GetParam() == OptLevel::kO0 ? 0.94 : 0.95);
}

TEST_P(CoverageTest, LineageLeavesNoTraceInTheCode) {
  for (unsigned seed = 1; seed <= kQueries; ++seed) {
    std::string without = without_call_targets(compile(seed, nullptr, false)->code());
    EXPECT_TRUE(without == without_call_targets(compile(seed)->code())) << "seed " << seed;
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, CoverageTest,
                         ::testing::Values(OptLevel::kO0, OptLevel::kO1, OptLevel::kO2, OptLevel::kO3),
                         [](const auto& level) {
                           return "O" + std::to_string(static_cast<int>(level.param));
                         });

}  // namespace
}  // namespace tailor::jit
