// Ground truth without a PMU: the row table against the tag, at every executed instruction of weft's queries
// (judgement.h), and what samples say against exact counts.
#include <gtest/gtest.h>
#include <tailor/agent.h>

#include <cstdlib>

#include "daemon/attribute/attribute.h"
#include "tests/integration/weft_lineage/judgement.h"
#include "tests/support/sanitizers.h"

namespace tailor::weft {
namespace {

using jit::OptLevel;

// Tags need an agent, but nobody who listens.
void StartAgent() {
  setenv("TAILOR_SOCKET", "/nonexistent/tailor.sock", 1);
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "ground truth";
  options.tag_strategy = TAILOR_TAGS_R15;
  ASSERT_EQ(tailor_agent_start(&options), 0);
}

// Instructions by operator id, in instructions.
using Counts = std::vector<double>;

// Of the calls that were followed as a whole: by the tag, which knows nothing of the row table.
Counts CountsByTag(const TracedQuery& traced) {
  Counts counts(traced.query->plan().operator_count + 1, 0);
  std::map<std::uint64_t, ComponentId> operators;
  for (const TracedRun& run : traced.trace.runs) {
    for (const TracedStep& step : run.steps) {
      auto [it, added] = operators.try_emplace(step.r15, kNoComponent);
      if (added) {
        const ComponentId task = traced.TaskOfTag(step.r15);
        it->second = task == kNoComponent ? kNoComponent : traced.query->OperatorOf(task);
      }
      counts[it->second] += 1;
    }
  }
  return counts;
}

// Every `period`th instruction is a sample, attributed as the daemon does it.
Counts CountsBySamples(const TracedQuery& traced, std::size_t period) {
  const CompiledQuery& query = *traced.query;
  process::ProcessState state({1, 1}, {});
  state.start_agent(1, 77, 1);
  const tagging::PlanKey key{query.ids().id, query.ids().slot, query.ids().generation};
  EXPECT_TRUE(state.load_plan(query.dictionary().Build(key), 2).ok());
  tailor::v1::CodeObject object;
  EXPECT_TRUE(object.ParseFromString(query.code().CodeObject(1, query.ids().id)));
  EXPECT_TRUE(state.load_code(object, 3).ok());
  Counts counts(query.plan().operator_count + 1, 0);
  std::size_t step_number = 0;
  for (const TracedRun& run : traced.trace.runs) {
    for (const TracedStep& step : run.steps) {
      if (++step_number % period != 0) continue;
      capture::Event sample;
      sample.time = 10;
      sample.pid = sample.tid = 1;
      sample.ip = sample.user_ip = step.ip;
      const attribute::Attribution word = attribute::attribute(sample, {}, &state);
      EXPECT_EQ(word.how, attribute::How::kCode);
      std::vector<ComponentId> ids;
      query.code().rows().pool().Expand(tagging::Link::FromWire(word.link), ids);
      if (ids.empty()) counts[0] += static_cast<double>(period);
      for (ComponentId id : ids) {
        const auto operators = query.dictionary().OwnersAt(GeneratedQuery::kIrLevel, id, 0);
        for (ComponentId op : operators) {
          counts[op] += static_cast<double>(period) / static_cast<double>(ids.size() * operators.size());
        }
      }
    }
  }
  return counts;
}

// Half the sum of the differences of the shares: the part of the cost that is booked on somebody else.
double Misplaced(const Counts& a, const Counts& b) {
  double total_a = 0, total_b = 0, out = 0;
  for (std::size_t i = 1; i < a.size(); ++i) total_a += a[i], total_b += b[i];
  for (std::size_t i = 1; i < a.size(); ++i) out += std::abs(a[i] / total_a - b[i] / total_b) / 2;
  return out;
}

double Percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class GroundTruth : public testing::TestWithParam<OptLevel> {
 protected:
  static void SetUpTestSuite() { StartAgent(); }
  static void TearDownTestSuite() { tailor_agent_stop(0); }
};

TEST_P(GroundTruth, RowTableAndTagOnEveryInstruction) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  auto jit = MakeTestJit();
  const std::uint64_t rows = LongTests() ? 400 : 16;
  const std::size_t steps = LongTests() ? 20'000 : 600;
  Judgement all, swapped, shifted;
  double misplaced = 0;
  std::size_t queries = 0;
  std::printf(
      "| query | instructions | agree | moved | serves | control | unexplained | frame | untagged | "
      "misplaced "
      "|\n");
  for (const NamedQuery& named : LineageQueries()) {
    TracedQuery traced(named, *jit, GetParam(), rows, steps);
    EXPECT_TRUE(traced.trace.finished) << named.name;
    const Judgement one = Judge(traced, Breakage::kNone);
    const Counts exact = CountsByTag(traced), sampled = CountsBySamples(traced, 7);
    const double off = Misplaced(exact, sampled);
    std::printf("| %s | %lu | %.2f | %.2f | %.2f | %.2f | %lu | %lu | %lu | %.1f |\n",
                std::string(named.name).c_str(), one.judged(), Percent(one.of(Verdict::kAgree), one.judged()),
                Percent(one.of(Verdict::kMoved), one.judged()),
                Percent(one.of(Verdict::kServes), one.judged()),
                Percent(one.of(Verdict::kControl), one.judged()), one.of(Verdict::kUnexplained),
                one.of(Verdict::kFrame), one.of(Verdict::kUntagged), 100 * off);
    std::fflush(stdout);
    misplaced += off;
    ++queries;
    all.Add(one);
    swapped.Add(Judge(traced, Breakage::kTasksSwapped));
    shifted.Add(Judge(traced, Breakage::kRowsShifted));
  }
  for (const std::string& text : all.unexplained) std::printf("%s\n", text.c_str());
  std::printf(
      "all: %lu instructions, agree %.2f %%, unexplained %lu, impossible origin %lu; misplaced %.2f %%\n",
      all.judged(), Percent(all.of(Verdict::kAgree), all.judged()), all.of(Verdict::kUnexplained),
      all.impossible_origin, 100 * misplaced / static_cast<double>(queries));
  std::printf("twins: unexplained %.2f %% with tasks swapped, %.2f %% with rows shifted\n",
              Percent(swapped.of(Verdict::kUnexplained), swapped.judged()),
              Percent(shifted.of(Verdict::kUnexplained), shifted.judged()));
  EXPECT_EQ(all.of(Verdict::kUnexplained), 0u);
  EXPECT_EQ(all.impossible_origin, 0u);
  EXPECT_GT(Percent(all.of(Verdict::kAgree), all.judged()), 80);
  EXPECT_GT(Percent(swapped.of(Verdict::kUnexplained), swapped.judged()), 10);
  EXPECT_GT(Percent(shifted.of(Verdict::kUnexplained), shifted.judged()), 10);
}

INSTANTIATE_TEST_SUITE_P(Levels, GroundTruth, testing::Values(OptLevel::kO2, OptLevel::kO3),
                         [](const auto& level) {
                           return "O" + std::to_string(static_cast<int>(level.param));
                         });

}  // namespace
}  // namespace tailor::weft
