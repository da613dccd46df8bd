// A query whose code changes while it runs: one execution begins in unoptimised code and ends in optimised
// code of the same plan, and the samples of both go to the operators that worked.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <set>
#include <string>

#include "daemon/query/sums/costs.h"
#include "daemon/session/record.h"
#include "tests/support/host_allows.h"

namespace tailor::session {
namespace {

// Nearly all of the time goes into one expression, by either compiler: in the first query into what is
// summed, in the second into the filter.
constexpr const char* kSum = "select count(*), sum(weft_burn_inline(l_orderkey, 2000)) from lineitem";
constexpr const char* kFilter = "select count(*) from lineitem where weft_burn_inline(l_orderkey, 2000) > 7";

struct Tier {
  std::map<std::string, double> operators;  // samples, by operator
  double all = 0;

  std::string dearest() const {
    const auto most = std::max_element(operators.begin(), operators.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most != operators.end() && most->second > 0.9 * all ? most->first : "none";
  }
};

class TierUp : public testing::Test {
 protected:
  // The tiers of one execution of the query. Skips where sampling is denied: then there are none.
  std::map<std::string, Tier> run(const char* sql, bool tiered) {
    const std::string output = testing::TempDir() + "tier_up.tailor";
    RecordOptions options;
    options.command = {WEFT, "--sf", "0.05", "--threads", "2", "--quiet", "--opt", "2"};
    if (tiered) options.command.push_back("--tiered");
    options.command.insert(options.command.end(), {"-c", sql});
    options.output = output;
    options.sampling.frequency = 4000;
    options.sampling.events = {"cpu-clock"};
    const auto outcome = record(os::real(), options);
    if (!outcome.ok()) {
      skipped =
          test::skip_if_denied(capture::SampledBy::kAuto, capture::Placement::kAuto, outcome.error().message);
      return {};
    }
    EXPECT_EQ(outcome->exit_code, 0);
    const auto profile = query::Profile::load_file(output);
    std::filesystem::remove(output);
    if (!profile.ok()) {
      ADD_FAILURE() << profile.error().message;
      return {};
    }
    return tiers_of(*profile);
  }

  static std::map<std::string, Tier> tiers_of(const query::Profile& profile) {
    std::map<std::string, Tier> tiers;
    std::set<ExecutionHandle> executions;
    std::set<PlanId> plans;
    const auto source = query::default_source(profile, {});
    if (!source) return tiers;
    query::for_each_cost(profile, {}, *source, [&](const query::Cost& cost) {
      if (cost.key.execution == 0 || cost.key.how != profile::How::kCode) return;
      const query::CodeInfo* code = profile.code(cost.key.process, cost.key.code);
      ASSERT_NE(code, nullptr);
      executions.insert(cost.key.execution);
      plans.insert(cost.key.plan);
      Tier& tier = tiers[code->tier];
      tier.all += static_cast<double>(cost.cell.samples);
      if (cost.what != query::Cost::Class::kPlan) return;
      for (const query::Share& owner : cost.lineage->front())
        tier.operators[cost.plan->component_name(0, owner.id)] +=
            owner.part * static_cast<double>(cost.cell.samples);
    });
    EXPECT_EQ(executions.size(), 1u);
    EXPECT_EQ(plans.size(), 1u);
    for (const auto& [name, tier] : tiers) {
      std::printf("%s, %.0f samples in its code:", name.c_str(), tier.all);
      for (const auto& [op, samples] : tier.operators) std::printf(" %s %.1f", op.c_str(), samples);
      std::printf("\n");
    }
    return tiers;
  }

  std::string skipped;
};

TEST_F(TierUp, SamplesOfBothTiersGoToTheOperatorThatWorked) {
  std::set<std::string> dearest;
  for (const char* sql : {kSum, kFilter}) {
    auto tiers = run(sql, true);
    if (!skipped.empty()) GTEST_SKIP() << "SKIP: " << skipped;
    ASSERT_EQ(tiers.size(), 2u) << sql;
    EXPECT_GT(tiers["O0"].all, 0) << sql;
    EXPECT_GT(tiers["O2"].all, 0) << sql;
    EXPECT_EQ(tiers["O0"].dearest(), tiers["O2"].dearest()) << sql;
    EXPECT_NE(tiers["O2"].dearest(), "none") << sql;
    dearest.insert(tiers["O2"].dearest());
  }
  EXPECT_EQ(dearest.size(), 2u) << "the queries differ in what works";
}

// The twin: code that does not change while it runs.
TEST_F(TierUp, OneTierIsSeenAsOne) {
  const auto tiers = run(kSum, false);
  if (!skipped.empty()) GTEST_SKIP() << "SKIP: " << skipped;
  ASSERT_EQ(tiers.size(), 1u);
  EXPECT_EQ(tiers.begin()->first, "O2");
}

}  // namespace
}  // namespace tailor::session
