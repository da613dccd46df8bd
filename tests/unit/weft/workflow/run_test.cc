// Workflows from their text to what their contexts hold, and to whom their code belongs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/unit/weft/workflow/workflow_fixture.h"

namespace tailor::weft::workflow {
namespace {

using testing::HasSubstr;

class WorkflowRunTest : public WorkflowFixture {
 protected:
  // What the contexts that are shown hold, on one worker and on three, unoptimised and optimised: all the
  // same.
  std::map<std::string, std::vector<double>> values(const std::string& text,
                                                    const std::string& functions = kFunctions) {
    std::map<std::string, std::vector<double>> first;
    for (jit::OptLevel level : {jit::OptLevel::kO0, jit::OptLevel::kO2}) {
      auto compiled = compile(text, functions, {.level = level});
      EXPECT_TRUE(compiled.ok()) << compiled.error().message;
      if (!compiled.ok()) return {};
      for (unsigned workers : {1u, 3u}) {
        auto outcome = run(**compiled, workers);
        EXPECT_TRUE(outcome.ok()) << outcome.error().message;
        if (!outcome.ok()) return {};
        std::map<std::string, std::vector<double>> seen;
        for (const ContextValues& each : outcome->shown)
          for (std::size_t i = 0; i < each.bytes.size() / scalar_bytes(each.scalar); ++i)
            seen[each.name].push_back(each.real(i));
        if (first.empty()) first = seen;
        EXPECT_EQ(seen, first) << "on " << workers << " workers";
      }
    }
    return first;
  }
};

// Sums of whole numbers are exact, in whatever order.
TEST_F(WorkflowRunTest, MapsFiltersAndReducesByKey) {
  auto seen = values(std::string(kHeading) +
                     "from t\n"
                     "  map scale(x, 2) -> y f64\n"
                     "  filter small(x)\n"
                     "  reduce add(y) by k into sums parallel combine add\n"
                     "  reduce count() by k into counts parallel combine add_counts\n"
                     "end\nshow sums, counts\n");
  // x of 0 to 999, six times.
  std::vector<double> sums(4, 0);
  for (int row = 0; row < 1000; ++row) sums[static_cast<std::size_t>(row % 4)] += 6 * row;
  EXPECT_EQ(seen["sums"], sums);
  EXPECT_EQ(seen["counts"], std::vector<double>(4, 250));
}

// How many tuples a function was called for is known up to the first operator that drops or adds some.
TEST_F(WorkflowRunTest, TuplesOfPipelinesAreCounted) {
  auto compiled = compile(std::string(kHeading) +
                          "loop twice 2\n  from t\n    map scale(x, 2) -> y f64\n    filter small(x)\n"
                          "    reduce add(y) into total\n  end\nend\n");
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  auto outcome = run(**compiled, 2);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  const std::vector<UdfUse>& uses = (*compiled)->program().udf_uses;
  ASSERT_EQ(uses.size(), 4u);
  EXPECT_EQ(uses[0].function, "make");
  EXPECT_EQ(outcome->tuples[uses[0].pipeline], 100'000u);
  const bool every_tuple[] = {true, true, true, false};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(uses[i].every_tuple, every_tuple[i]) << uses[i].function;
  for (std::size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(outcome->tuples[uses[i].pipeline], 200'000u) << "two iterations";
    EXPECT_EQ((*compiled)->program().function_names[uses[i].task], uses[i].function);
  }
}

TEST_F(WorkflowRunTest, FlatmapsGiveSeveralTuples) {
  auto seen = values(std::string(kHeading) +
                     "from t\n"
                     "  flatmap copies(k, x) -> y f64 at most 3\n"
                     "  reduce add(y) into total combine add\n"
                     "  reduce count() into copied combine add_counts\n"
                     "end\nshow total, copied\n");
  double total = 0;
  for (int row = 0; row < 100000; ++row) total += (row % 4) * static_cast<double>(row);
  EXPECT_EQ(seen["total"], std::vector<double>{total});
  EXPECT_EQ(seen["copied"], std::vector<double>{150000});
}

// Six tuples with the keys 0, 1, 2, 0, 1, 2: a key has two tuples or none. The keys have two widths.
TEST_F(WorkflowRunTest, JoinsGiveEachPairOfEqualKeys) {
  const std::string functions = std::string(kFunctions) +
                                "define void @make_pair(i64 %row, ptr %key, ptr %weight) {\n"
                                "  %r = srem i64 %row, 3\n  %k = trunc i64 %r to i32\n"
                                "  store i32 %k, ptr %key, align 4\n  %w = sitofp i64 %row to double\n"
                                "  store double %w, ptr %weight, align 8\n  ret void\n}\n";
  const std::string pairs = "input pairs(key i32, weight f64) rows 6 by make_pair()\n";
  auto seen = values(std::string(kHeading) + pairs +
                         "from t\n"
                         "  join pairs on k = key\n"
                         "  reduce add(weight) into total combine add\n"
                         "  reduce count() by k into counts combine add_counts\n"
                         "end\n"
                         "from pairs\n"
                         "  join t on key = k\n"
                         "  reduce count() into copied combine add_counts\n"
                         "end\nshow total, counts, copied\n",
                     functions);
  EXPECT_EQ(seen["total"], std::vector<double>{25000.0 * (0 + 3 + 1 + 4 + 2 + 5)});
  EXPECT_EQ(seen["counts"], (std::vector<double>{50000, 50000, 50000, 0}));
  EXPECT_EQ(seen["copied"], std::vector<double>{150000}) << "from the other side it is the same";
  // In a loop it stays as it is.
  seen = values(std::string(kHeading) + pairs +
                    "loop l 3\n  from t\n    join pairs on k = key\n"
                    "    reduce count() into copied combine add_counts\n  end\nend\nshow copied\n",
                functions);
  EXPECT_EQ(seen["copied"], std::vector<double>{450000});
}

// An optimiser says of a call that it touches no variable of its function. In the loop the variable is the
// loop's.
TEST_F(WorkflowRunTest, TailCallsOfUsersCodeMayWriteToVariablesOfTheLoop) {
  const std::string functions =
      std::string(kFunctions) +
      "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)\n"
      "define void @cleared(double %x, ptr %a, ptr %b) {\n"
      "  store double %x, ptr %a, align 8\n  store double %x, ptr %b, align 8\n"
      "  tail call void @llvm.memset.p0.i64(ptr %a, i8 0, i64 8, i1 false)\n  ret void\n}\n";
  auto seen = values(std::string(kHeading) +
                         "from t\n  map cleared(x) -> a f64, b f64\n"
                         "  reduce add(a) into total combine add\n"
                         "  reduce add(b) by k into sums combine add\nend\nshow total, sums\n",
                     functions);
  EXPECT_EQ(seen["total"], std::vector<double>{0});
  EXPECT_GT(seen["sums"].at(1), 0);
}

// An execution may be asked to have no tags.
TEST_F(WorkflowRunTest, WithoutTagsTheValuesAreTheSame) {
  auto compiled =
      compile(std::string(kHeading) + "from t\nreduce add(x) into total combine add\nend\nshow total\n");
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  auto untagged = (*compiled)->without_tags();
  ASSERT_TRUE(untagged.ok()) << untagged.error().message;
  EXPECT_NE(*untagged, compiled->get());
  EXPECT_EQ((*untagged)->tag(1, 1), 0u);
  auto again = (*compiled)->without_tags();
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, *untagged) << "it is compiled once";
  for (const CompiledWorkflow* each : {static_cast<const CompiledWorkflow*>(compiled->get()), *untagged}) {
    auto outcome = run(*each, 2);
    ASSERT_TRUE(outcome.ok()) << outcome.error().message;
    EXPECT_EQ(outcome->shown.at(0).real(0), 99999.0 * 100000 / 2);
  }
}

TEST_F(WorkflowRunTest, SynchronousOperatorsLoseNothing) {
  auto seen = values(std::string(kHeading) +
                     "from t\n"
                     "  update add_to(x, total) into total synchronous\n"
                     "  reduce count() by k into counts\n"
                     "end\nshow total, counts\n");
  EXPECT_EQ(seen["total"], std::vector<double>{99999.0 * 100000 / 2});
  EXPECT_EQ(seen["counts"], std::vector<double>(4, 25000));
}

TEST_F(WorkflowRunTest, MathCallsAreRun) {
  auto seen =
      values(std::string(kHeading) +
             "from t\n  map power(x) -> y f64\n  reduce add(y) into total combine add\nend\nshow total\n");
  EXPECT_EQ(seen["total"], std::vector<double>{99999.0 * 100000 / 2});
}

TEST_F(WorkflowRunTest, LoopsEndByTheirConditionOrTheirCount) {
  const std::string text =
      std::string(kHeading) +
      "loop early 10 until enough(total) watch total\n  update step(total) into total\nend\n"
      "loop full 4\n  update step(total) into total\nend\nshow total\n";
  auto compiled = compile(text);
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  auto outcome = run(**compiled, 2);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_EQ(outcome->shown.at(0).real(0), 7);
  ASSERT_EQ(outcome->iterations.size(), 7u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(outcome->iterations[i].loop, "early");
    EXPECT_EQ(outcome->iterations[i].number, i + 1);
    EXPECT_EQ(outcome->iterations[i].watched, std::optional<double>(static_cast<double>(i + 1)));
  }
  EXPECT_EQ(outcome->iterations[3].loop, "full");
  EXPECT_FALSE(outcome->iterations[3].watched.has_value());
  EXPECT_EQ(outcome->iterations_not_kept, 0u);
}

TEST_F(WorkflowRunTest, KeysAndCountsAreChecked) {
  auto by_row = compile(
      "workflow w\ninput t(x f64, k i64) rows 100 by make()\ncontext few i64[3]\n"
      "from t\nreduce count() by k into few combine add_counts\nend\n");
  ASSERT_TRUE(by_row.ok()) << by_row.error().message;
  for (unsigned workers : {1u, 3u}) {
    auto outcome = run(**by_row, workers);
    ASSERT_FALSE(outcome.ok());
    EXPECT_EQ(outcome.error().message,
              "test.wf: line 5: the key 3 chooses nothing: the context has the slots 0 to 2");
  }
  auto liar = compile(
      std::string(kHeading) + "from t\nflatmap liar(x) -> y f64 at most 2\nreduce add(y) into total\nend\n",
      std::string(kFunctions) + "define i32 @liar(double %x, ptr %out) {\n  ret i32 -1\n}\n");
  ASSERT_TRUE(liar.ok()) << liar.error().message;
  auto outcome = run(**liar, 1);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message,
            "test.wf: line 9: the function says that it wrote -1 tuples, and may write 0 to 2");
}

TEST_F(WorkflowRunTest, LimitsAndCancellingAreErrors) {
  auto compiled = compile(std::string(kHeading) + "from t\nreduce add(x) into total\nend\n");
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  auto outcome = run(**compiled, 1, {.memory_limit = 100'000});
  ASSERT_FALSE(outcome.ok());
  EXPECT_THAT(outcome.error().message, HasSubstr("memory limit"));
  const std::atomic<bool> cancelled{true};
  outcome = run(**compiled, 1, {.cancel = &cancelled});
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.error().message, "cancelled");
}

// Bytes of code by the user's function that owns them, "" for the operators' own code; `unowned` has no owner
// and is no frame code.
struct CodeShares {
  std::map<std::string, std::uint64_t> of;
  std::uint64_t unowned = 0, all = 0;
};

CodeShares shares_of(const CompiledWorkflow& compiled) {
  CodeShares shares;
  const auto& rows = compiled.code().rows().rows();
  const std::uint64_t end = compiled.code().code().size();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::uint64_t bytes = (i + 1 < rows.size() ? rows[i + 1].offset : end) - rows[i].offset;
    if (rows[i].flag == tagging::RowFlag::kPrologue) continue;
    shares.all += bytes;
    std::vector<ComponentId> ids;
    if (!rows[i].link.none()) compiled.code().rows().pool().expand(rows[i].link, ids);
    if (ids.empty()) shares.unowned += bytes;
    for (ComponentId id : ids)
      for (ComponentId task : compiled.dictionary().owners(2, id))
        shares.of[compiled.program().function_names.at(task)] += bytes;
  }
  return shares;
}

TEST_F(WorkflowRunTest, InlinedCodeKeepsItsOwner) {
  const std::string text = std::string(kHeading) +
                           "from t\n  map scale(x, 2) -> y f64\n  filter small(x)\n"
                           "  reduce add(y) by k into sums parallel combine add\nend\n";
  for (jit::OptLevel level : {jit::OptLevel::kO0, jit::OptLevel::kO2}) {
    auto compiled = compile(text, kFunctions, {.level = level});
    ASSERT_TRUE(compiled.ok()) << compiled.error().message;
    const CodeShares shares = shares_of(**compiled);
    for (const char* function : {"make", "scale", "small", "add", ""})
      EXPECT_GT(shares.of.contains(function) ? shares.of.at(function) : 0, 0u) << function;
    EXPECT_FALSE(shares.of.contains("twice")) << "its code is that of scale, which calls it";
    EXPECT_LE(static_cast<double>(shares.unowned), 0.005 * static_cast<double>(shares.all));
    // Nothing is called that could be inlined.
    for (const jit::FunctionRange& each : (*compiled)->code().functions())
      EXPECT_THAT(each.name, testing::MatchesRegex("(pipeline|generate|combine)_[0-9]+"));
  }
}

// The broken twin of the test above: without lineage nothing is owned.
TEST_F(WorkflowRunTest, WithoutLineageNothingIsOwned) {
  auto compiled = compile(std::string(kHeading) + "from t\nreduce add(x) into total\nend\n", kFunctions,
                          {.lineage = false});
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const CodeShares shares = shares_of(**compiled);
  EXPECT_TRUE(shares.of.empty());
}

TEST_F(WorkflowRunTest, OperatorsStandAboveTheirFunctions) {
  auto compiled =
      compile(std::string(kHeading) + "from t\nfilter small(x)\nreduce add(x) into total combine add\nend\n");
  ASSERT_TRUE(compiled.ok()) << compiled.error().message;
  const v1::Plan plan = (*compiled)->dictionary().build({1, 1, 1});
  ASSERT_EQ(plan.levels_size(), 3);
  EXPECT_EQ(plan.levels(0).name(), "operator");
  EXPECT_EQ(plan.levels(1).name(), "udf");
  std::map<std::string, std::string> operator_of;  // by function
  for (const v1::Component& each : plan.levels(0).components()) operator_of[each.name()] = each.kind();
  EXPECT_EQ(operator_of["t"], "input");
  EXPECT_EQ(operator_of["filter small"], "filter");
  EXPECT_EQ(operator_of["reduce add"], "reduce");
  ASSERT_EQ(plan.pipelines_size(), 3) << "that of the input, the workflow's own, and one that combines";
}

}  // namespace
}  // namespace tailor::weft::workflow
