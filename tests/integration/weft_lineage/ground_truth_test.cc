// Ground truth without a PMU: the row table against the tag, at every executed instruction of weft's queries
// (judgement.h), and what samples say against exact counts.
#include <gtest/gtest.h>
#include <tailor/agent.h>

#include <cmath>
#include <cstdlib>
#include <random>

#include "daemon/attribute/attribute.h"
#include "tests/integration/weft_lineage/judgement.h"
#include "tests/support/sanitizers.h"

namespace tailor::weft {
namespace {

// Tags need an agent, but nobody who listens.
void start_agent() {
  setenv("TAILOR_SOCKET", "/nonexistent/tailor.sock", 1);
  tailor_agent_options options{};
  options.size = sizeof(options);
  options.engine_name = "ground truth";
  options.tag_strategy = TAILOR_TAGS_R15;
  ASSERT_EQ(tailor_agent_start(&options), 0);
}

// By operator id, in instructions; [0] is what no operator has.
using Counts = std::vector<double>;

enum class Tasks { kRight, kSwapped };

// What rows may misplace of a query, in per cent, beside what chance does, which hides more in a short run.
double most_misplaced() {
  return long_tests() ? 6 : 3;
}
// Instructions from sample to sample, drawn anew for each: a constant number keeps step with loops.
constexpr std::size_t kLeastPeriod = 4, kMostPeriod = 10, kMeanPeriod = 7;
// A query that executes a few hundred instructions has few samples: how well they fall is a matter of chance.
constexpr unsigned kProfiles = 20;

// What is counted: the calls that were followed from entry to return. What else was followed is there because
// it was new, not because it ran often.
std::vector<const TracedRun*> counted_runs(const TracedQuery& traced) {
  std::vector<const TracedRun*> runs;
  for (const TracedRun& run : traced.trace.runs) {
    if (run.whole_call) runs.push_back(&run);
  }
  return runs;
}

// By the tag, which knows nothing of the row table.
Counts counts_by_tag(const TracedQuery& traced, Tasks tasks) {
  Counts counts(traced.query->plan().operator_count + 1, 0);
  const std::uint32_t task_count = traced.query->program().task_count;
  std::map<std::uint64_t, ComponentId> operators;
  for (const TracedRun* run : counted_runs(traced)) {
    for (const TracedStep& step : run->steps) {
      auto [it, added] = operators.try_emplace(step.registers.r15, kNoComponent);
      if (added) {
        ComponentId task = traced.task_of_tag(step.registers.r15);
        if (task != kNoComponent && tasks == Tasks::kSwapped) task = task % task_count + 1;
        it->second = task == kNoComponent ? kNoComponent : traced.query->operator_of(task);
      }
      counts[it->second] += 1;
    }
  }
  return counts;
}

// What the daemon books a sample at each instruction on that ran: shares of operators.
using Shares = std::map<std::uint64_t, std::vector<std::pair<ComponentId, double>>>;

Shares shares_by_address(const TracedQuery& traced) {
  const CompiledQuery& query = *traced.query;
  process::ProcessState state({1, 1}, {});
  state.start_agent(1, 77, 1);
  const tagging::PlanKey key{query.ids().id, query.ids().slot, query.ids().generation};
  EXPECT_TRUE(state.load_plan(query.dictionary().build(key), 2).ok());
  tailor::v1::CodeObject object;
  EXPECT_TRUE(object.ParseFromString(query.code().code_object(1, query.ids().id)));
  EXPECT_TRUE(state.load_code(object, 3).ok());
  Shares shares;
  for (const TracedRun* run : counted_runs(traced)) {
    for (const TracedStep& step : run->steps) {
      auto [it, added] = shares.try_emplace(step.ip);
      if (!added) continue;
      capture::Event sample;
      sample.time = 10;
      sample.pid = sample.tid = 1;
      sample.ip = sample.user_ip = step.ip;
      const profile::Attribution word = attribute::attribute(sample, {}, &state);
      EXPECT_EQ(word.how, profile::How::kCode);
      std::vector<ComponentId> ids;
      query.code().rows().pool().expand(tagging::Link::from_wire(word.link), ids);
      if (ids.empty()) it->second.emplace_back(0, 1);
      for (ComponentId id : ids) {
        const auto operators = query.dictionary().owners_at(GeneratedQuery::kIrLevel, id, 0);
        const double share = 1 / static_cast<double>(ids.size() * operators.size());
        for (ComponentId op : operators) it->second.emplace_back(op, share);
      }
    }
  }
  return shares;
}

// One profile: samples at intervals that are drawn.
Counts counts_by_samples(const TracedQuery& traced, const Shares& shares, unsigned seed) {
  Counts counts(traced.query->plan().operator_count + 1, 0);
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::size_t> intervals(kLeastPeriod, kMostPeriod);
  std::size_t left = intervals(random);
  for (const TracedRun* run : counted_runs(traced)) {
    for (const TracedStep& step : run->steps) {
      if (--left > 0) continue;
      left = intervals(random);
      for (const auto& [op, share] : shares.at(step.ip)) counts[op] += share * kMeanPeriod;
    }
  }
  return counts;
}

// Half the sum of the differences of the shares: the part of the cost that is booked on somebody else.
double share_misplaced(const Counts& a, const Counts& b) {
  double total_a = 0, total_b = 0, out = 0;
  for (std::size_t i = 1; i < a.size(); ++i) total_a += a[i], total_b += b[i];
  for (std::size_t i = 1; i < a.size(); ++i) out += std::abs(a[i] / total_a - b[i] / total_b) / 2;
  return out;
}

// What is misplaced in the mean if as many samples are drawn at random: the mean deviations of the shares,
// each nearly normal.
double misplaced_by_chance(const Counts& exact) {
  double total = 0, out = 0;
  for (std::size_t i = 1; i < exact.size(); ++i) total += exact[i];
  for (std::size_t i = 1; i < exact.size(); ++i) {
    const double share = exact[i] / total;
    const double variance = share * (1 - share) * static_cast<double>(kMeanPeriod) / total;
    out += std::sqrt(2 * variance / M_PI) / 2;
  }
  return out;
}

double percent(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

class GroundTruth : public testing::TestWithParam<CodeKind> {
 protected:
  static void SetUpTestSuite() { start_agent(); }
  static void TearDownTestSuite() { tailor_agent_stop(0); }
};

// What a test run says of one query.
struct Outcome {
  Judgement right, swapped, shifted;
  WrongRows wrong;
  std::size_t calls = 0, whole = 0;
  Counts exact, sampled;                                       // sampled: the first profile
  double misplaced = 0, misplaced_swapped = 0, by_chance = 0;  // per cent, means of the profiles

  explicit Outcome(const TracedQuery& traced)
      : right(judge(traced, Breakage::kNone)),
        swapped(judge(traced, Breakage::kTasksSwapped)),
        shifted(judge(traced, Breakage::kRowsShifted)),
        wrong(try_wrong_rows(traced, 0.05, 1)),
        exact(counts_by_tag(traced, Tasks::kRight)),
        by_chance(100 * misplaced_by_chance(exact)) {
    const Shares shares = shares_by_address(traced);
    const Counts swapped_tags = counts_by_tag(traced, Tasks::kSwapped);
    for (unsigned seed = 1; seed <= kProfiles; ++seed) {
      const Counts profile = counts_by_samples(traced, shares, seed);
      misplaced += 100 * share_misplaced(exact, profile) / kProfiles;
      misplaced_swapped += 100 * share_misplaced(swapped_tags, profile) / kProfiles;
      if (seed == 1) sampled = profile;
    }
    for (const TracedRun& run : traced.trace.runs) calls += run.from_entry, whole += run.whole_call;
  }

  std::string row(std::string_view name) const {
    auto part = [&](Verdict verdict) { return percent(right.of(verdict), right.judged()); };
    char text[256];
    std::snprintf(text, sizeof text,
                  "| %.*s | %lu | %.2f | %.2f | %.2f | %.2f | %.2f | %lu | %lu | %lu | %zu/%zu | %.1f |",
                  static_cast<int>(name.size()), name.data(), right.judged(), part(Verdict::kAgree),
                  part(Verdict::kMoved), part(Verdict::kServes), part(Verdict::kControl),
                  part(Verdict::kNotFollowed), right.of(Verdict::kUnexplained), right.of(Verdict::kFrame),
                  right.of(Verdict::kUntagged), whole, calls, misplaced);
    return text;
  }

  // Instructions of each operator by the tags, and by the samples.
  std::string operators(const TracedQuery& traced, std::string_view name) const {
    const v1::Plan plan = traced.query->dictionary().build({});
    std::string text = "| " + std::string(name) + " | ";
    for (std::size_t op = 1; op < exact.size(); ++op) {
      if (op > 1) text += ", ";
      text += plan.levels(0).components(static_cast<int>(op) - 1).name() + " " +
              std::to_string(std::lround(exact[op])) + " (" + std::to_string(std::lround(sampled[op])) + ")";
    }
    return text + " |";
  }
};

TEST_P(GroundTruth, RowTableAndTagOnEveryInstruction) {
  TAILOR_SKIP_FORK_UNDER_TSAN();
  auto jit = make_test_jit(GetParam().cpu);
  const std::uint64_t rows = long_tests() ? 400 : 16;
  const std::size_t steps = long_tests() ? 100'000 : 3000;
  Judgement all, swapped, shifted;
  WrongRows wrong;
  std::size_t queries = 0, calls = 0, whole = 0;
  double misplaced = 0, misplaced_swapped = 0;
  std::vector<std::string> operators;
  std::printf(
      "| query | instructions | agree | moved | serves | control | not followed | unexplained | frame | "
      "untagged | whole calls | misplaced |\n");
  for (const NamedQuery& named : lineage_queries()) {
    const TracedQuery traced(named, *jit, GetParam().level, rows, steps);
    EXPECT_TRUE(traced.trace.finished) << named.name;
    const Outcome one(traced);
    std::printf("%s\n", one.row(named.name).c_str());
    std::fflush(stdout);
    operators.push_back(one.operators(traced, named.name));
    const double bound = most_misplaced() + one.by_chance;
    EXPECT_LT(one.misplaced, bound) << named.name;
    EXPECT_GT(one.misplaced_swapped, bound) << named.name << ", the twin";
    ++queries;
    calls += one.calls, whole += one.whole;
    misplaced += one.misplaced, misplaced_swapped += one.misplaced_swapped;
    all.add(one.right), swapped.add(one.swapped), shifted.add(one.shifted);
    wrong.add(one.wrong);
  }
  std::printf("\n| query | instructions of its operators by tag (by samples) |\n");
  for (const std::string& text : operators) std::printf("%s\n", text.c_str());
  for (const std::string& text : all.unexplained) std::printf("%s\n", text.c_str());
  const auto share = [](const Judgement& of, Verdict verdict) {
    return percent(of.of(verdict), of.judged());
  };
  const double mean = misplaced / static_cast<double>(queries);
  std::printf(
      "all: %lu instructions, agree %.2f %%, not followed %.2f %%, unexplained %lu, impossible origin %lu; "
      "%zu "
      "of %zu calls whole, misplaced %.2f %%\n",
      all.judged(), share(all, Verdict::kAgree), share(all, Verdict::kNotFollowed),
      all.of(Verdict::kUnexplained), all.impossible_origin, whole, calls, mean);
  for (const auto& [what, twin] : {std::pair("tasks swapped", &swapped), {"rows shifted", &shifted}}) {
    std::printf("twin with %s: agree %.2f %%, not followed %.2f %%, unexplained %.2f %%\n", what,
                share(*twin, Verdict::kAgree), share(*twin, Verdict::kNotFollowed),
                share(*twin, Verdict::kUnexplained));
  }
  std::printf("twin with tasks swapped: misplaced %.2f %%\n",
              misplaced_swapped / static_cast<double>(queries));
  std::printf("of %zu rows made wrong one at a time %zu are unexplained, %zu not followed\n", wrong.tried,
              wrong.unexplained, wrong.not_followed);
  EXPECT_EQ(all.of(Verdict::kUnexplained), 0u);
  EXPECT_EQ(all.impossible_origin, 0u);
  EXPECT_GT(share(all, Verdict::kAgree), 80);
  EXPECT_LE(share(all, Verdict::kNotFollowed), 0.5);
  EXPECT_LT(mean, long_tests() ? 4 : 6);
  EXPECT_GT(10 * whole, 9 * calls);
  EXPECT_LT(share(swapped, Verdict::kAgree), 10);
  for (const Judgement* twin : {&swapped, &shifted})
    EXPECT_GT(share(*twin, Verdict::kUnexplained) + share(*twin, Verdict::kNotFollowed), 15);
  EXPECT_GE(100 * wrong.unexplained, 95 * wrong.tried);
}

INSTANTIATE_TEST_SUITE_P(Kinds, GroundTruth, testing::ValuesIn(kinds_of_code()),
                         [](const auto& kind) { return name_of(kind.param); });

}  // namespace
}  // namespace tailor::weft
