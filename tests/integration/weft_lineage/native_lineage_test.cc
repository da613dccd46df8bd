// The native end of the lineage over weft's queries: every byte is explained, lost locations are repaired
// rightly, and lineage leaves no trace in the code.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/native_code.h"
#include "tests/support/weft_code.h"

namespace tailor::weft {
namespace {

using jit::OptLevel;
using jit::TagStrategy;
using tagging::RowFlag;

jit::QueryModuleOptions options(TagStrategy tags, bool lineage = true) {
  return {.name = "query",
          .tags = tags,
          .make_tag = [](ComponentId upper, ComponentId lower) { return upper << 16 | lower; },
          .lineage = lineage};
}

// Where the linker puts its stubs for far calls differs from link to link.
std::string without_call_targets(std::string code) {
  for (const NativeInstruction& instruction : take_apart(code)) {
    if (instruction.is_call && instruction.size == 5) code.replace(instruction.offset + 1, 4, 4, '\0');
  }
  return code;
}

class NativeLineage : public testing::TestWithParam<CodeKind> {
 protected:
  std::unique_ptr<jit::CompiledModule> compile(const jit::SealedModule& sealed,
                                               jit::RepairTrial* trial = nullptr) {
    auto code = jit_->compile(sealed.clone(), {.level = GetParam().level, .trial = trial});
    if (!code.ok()) ADD_FAILURE() << code.error().message;
    return std::move(*code);
  }

  std::unique_ptr<jit::Jit> jit_ = make_test_jit(GetParam().cpu);
};

TEST_P(NativeLineage, EveryByteHasAnOwnerOrIsPrologue) {
  std::uint64_t total = 0;
  std::uint64_t bytes[5] = {};
  double most_prologue = 0;
  for (const NamedQuery& named : lineage_queries()) {
    GeneratedQuery query(named, options(TagStrategy::kR15));
    auto code = compile(query.sealed);
    auto coverage = coverage_of(code->rows().rows(), static_cast<std::uint32_t>(code->code().size()));
    EXPECT_EQ(coverage.bytes[static_cast<int>(RowFlag::kUnmapped)], 0u) << named.name;
    const double prologue = static_cast<double>(coverage.bytes[static_cast<int>(RowFlag::kPrologue)]) /
                            static_cast<double>(code->code().size());
    // The frame pointer takes 5 bytes of a function, and some queries have many small ones.
    EXPECT_LE(prologue, 0.025) << named.name;
    most_prologue = std::max(most_prologue, prologue);
    // The twin: a row that lost its owner.
    std::vector<tagging::Row> broken = code->rows().rows();
    broken[broken.size() / 2].flag = RowFlag::kUnmapped;
    const auto twin = coverage_of(broken, static_cast<std::uint32_t>(code->code().size()));
    EXPECT_GT(twin.bytes[static_cast<int>(RowFlag::kUnmapped)], 0u) << named.name;
    total += code->code().size();
    for (int i = 0; i < 5; ++i) bytes[i] += coverage.bytes[i];
  }
  auto share = [&](RowFlag flag) {
    return static_cast<double>(bytes[static_cast<int>(flag)]) / static_cast<double>(total);
  };
  EXPECT_LE(share(RowFlag::kPrologue), 0.02);
  std::printf(
      "exact %.4f inferred %.4f shared %.4f prologue %.4f unmapped %.4f of %lu bytes, prologue of a "
      "query at most %.4f\n",
      share(RowFlag::kExact), share(RowFlag::kInferred), share(RowFlag::kShared), share(RowFlag::kPrologue),
      share(RowFlag::kUnmapped), total, most_prologue);
}

TEST_P(NativeLineage, RepairFindsTheTaskOfHiddenLocations) {
  std::size_t right = 0, total = 0, right_shifted = 0;
  for (const NamedQuery& named : lineage_queries()) {
    GeneratedQuery query(named, options(TagStrategy::kR15));
    jit::RepairTrial trial{
        .seed = 1, .rounds = long_tests() ? 20u : 5u, .hidden_fraction = 0.1, .guesses = {}};
    compile(query.sealed, &trial);
    std::size_t query_right = 0;
    for (std::size_t i = 0; i < trial.guesses.size(); ++i) {
      const auto recorded = query.tasks_of(trial.guesses[i].recorded);
      query_right += recorded == query.tasks_of(trial.guesses[i].inferred);
      // The twin: what was found for another hidden location.
      right_shifted += recorded == query.tasks_of(trial.guesses[(i + 7) % trial.guesses.size()].inferred);
    }
    std::printf("%-9s %6zu hidden, right %.4f\n", std::string(named.name).c_str(), trial.guesses.size(),
                static_cast<double>(query_right) / static_cast<double>(trial.guesses.size()));
    right += query_right;
    total += trial.guesses.size();
  }
  ASSERT_GT(total, 1000u);
  const double share = static_cast<double>(right) / static_cast<double>(total);
  const double shifted = static_cast<double>(right_shifted) / static_cast<double>(total);
  std::printf("%zu of %zu hidden locations right: %.4f; of another one's: %.4f\n", right, total, share,
              shifted);
  EXPECT_GE(share, 0.95);
  EXPECT_LT(shifted, 0.6);
}

// The links of a level without what is described of its components.
double bytes_of_a_link(const v1::Level& level) {
  v1::Level links;
  *links.mutable_links() = level.links();
  *links.mutable_link_sets() = level.link_sets();
  return static_cast<double>(links.ByteSizeLong()) / level.links_size();
}

TEST_P(NativeLineage, LinksAreSmallOnTheWire) {
  double most = 0;
  std::size_t rows = 0, row_bytes = 0;
  for (const NamedQuery& named : lineage_queries()) {
    GeneratedQuery query(named, options(TagStrategy::kR15));
    const v1::Plan plan = query.dictionary.build({1, 1, 1});
    most = std::max(most, bytes_of_a_link(plan.levels(2)));
    EXPECT_LE(bytes_of_a_link(plan.levels(2)), 12) << named.name;
    v1::CodeObject code;
    ASSERT_TRUE(code.ParseFromString(compile(query.sealed)->code_object(1, 1)));
    rows += static_cast<std::size_t>(code.rows().offset_delta_size());
    row_bytes += code.rows().ByteSizeLong();
  }
  std::printf("at most %.2f bytes a link, %.2f bytes a row\n", most,
              static_cast<double>(row_bytes) / static_cast<double>(rows));
  EXPECT_LE(row_bytes, 12 * rows);
  // The twin: sets that nobody shares.
  v1::Level wasteful;
  for (std::uint32_t i = 0; i < 100; ++i) {
    wasteful.add_links(i << 1 | 1);
    v1::LinkSet& set = *wasteful.add_link_sets();
    for (std::uint32_t id = 1; id <= 12; ++id) set.add_ids(100 * i + id);
  }
  EXPECT_GT(bytes_of_a_link(wasteful), 12);
}

INSTANTIATE_TEST_SUITE_P(Kinds, NativeLineage, testing::ValuesIn(kinds_of_code()),
                         [](const auto& kind) { return name_of(kind.param); });

class UnchangedCode : public NativeLineage {};

TEST_P(UnchangedCode, LineageLeavesNoTrace) {
  if (!long_tests() && (GetParam().level == OptLevel::kO1 || GetParam().level == OptLevel::kO3))
    GTEST_SKIP() << "SKIP: O1 and O3 are compared in the group full";
  std::size_t number = 0;
  for (TagStrategy tags :
       {TagStrategy::kNone, TagStrategy::kR15, TagStrategy::kSwiftSelf, TagStrategy::kMemorySlot}) {
    for (const NamedQuery& named : lineage_queries()) {
      // The alternatives to r15: a third of the queries each, all in the group full.
      const bool alternative = tags == TagStrategy::kSwiftSelf || tags == TagStrategy::kMemorySlot;
      if (alternative && !long_tests() && ++number % 3 != 0) continue;
      GeneratedQuery with(named, options(tags)), without(with, options(tags, false));
      const std::string a = without_call_targets(compile(with.sealed)->code());
      const std::string b = without_call_targets(compile(without.sealed)->code());
      EXPECT_FALSE(a.empty());
      EXPECT_TRUE(a == b) << named.name << " with tag strategy " << static_cast<int>(tags);
    }
  }
}

// The comparison sees a single instruction more.
TEST_P(UnchangedCode, TagsDoLeaveATrace) {
  const NamedQuery* named = find_query("tpch-3");
  for (TagStrategy tags : {TagStrategy::kR15, TagStrategy::kSwiftSelf, TagStrategy::kMemorySlot}) {
    for (bool lineage : {true, false}) {
      GeneratedQuery with(*named, options(tags, lineage)),
          without(with, options(TagStrategy::kNone, lineage));
      EXPECT_NE(without_call_targets(compile(with.sealed)->code()),
                without_call_targets(compile(without.sealed)->code()))
          << static_cast<int>(tags);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, UnchangedCode,
                         testing::Values(CodeKind{kTestCpu, OptLevel::kO0}, CodeKind{kTestCpu, OptLevel::kO1},
                                         CodeKind{kTestCpu, OptLevel::kO2},
                                         CodeKind{kTestCpu, OptLevel::kO3}),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace tailor::weft
