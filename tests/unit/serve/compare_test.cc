// Two views beside each other: what is compared, and by how many executions costs are divided.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/serve/main_plan.h"
#include "daemon/serve/views.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

View view_of(const std::function<void(profile::ProfileSink&)>& give) {
  auto profile = std::make_shared<const query::Profile>(test::make_profile(give));
  auto view = make_view({profile, {}}, {});
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return std::move(*view);
}

View sample_view(int rounds) {
  return view_of([&](profile::ProfileSink& sink) { test::give_profile(sink, rounds); });
}

TEST(Compare, AnExecutionWithItselfIsTheSame) {
  const View view = sample_view(20);
  const auto same = compare_json(view, view);
  ASSERT_TRUE(same);
  EXPECT_TRUE((*same)["same_plan"].get<bool>());
  for (const Json& row : (*same)["operators"]) {
    EXPECT_EQ(row["change"], "matched");
    EXPECT_EQ(row["weight_change"], 0);
    EXPECT_FALSE(row["significant"].get<bool>());
  }
  const Json growth = (*same)["growth"];
  EXPECT_DOUBLE_EQ(growth["ratio"].get<double>(), 1);
  EXPECT_LT(growth["low"].get<double>(), 0.95);
  EXPECT_GT(growth["high"].get<double>(), 1.05);
}

TEST(Compare, OfFewSamplesItIsNotKnownHowMuchACostGrew) {
  const View view = sample_view(1);
  const auto same = compare_json(view, view);
  ASSERT_TRUE(same);
  EXPECT_TRUE((*same)["growth"].is_object()) << "of sixteen it is";
  int unknown = 0;
  for (const Json& row : (*same)["operators"]) unknown += row["growth"].is_null() ? 1 : 0;
  EXPECT_GT(unknown, 0) << "of one or two it is not";
}

// A second execution, without samples: chance, or because a share of the executions is sampled.
profile::ExecutionRecord another_execution(bool drawn) {
  profile::ExecutionRecord other;
  other.process = test::kSampleProcess;
  other.handle = test::kSampleExecution + 1;
  other.id.bytes.fill(0xE2);
  other.plan = test::kSamplePlan;
  other.begin = test::kSampleStart;
  other.end = test::kSampleStart + 1000;
  other.drawn = drawn;
  return other;
}

View view_with(const profile::ExecutionRecord& other, const std::vector<v1::Plan>& plans = {}) {
  return view_of([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 5);
    for (const v1::Plan& plan : plans) sink.on_plan(test::kSampleProcess, test::kSampleStart, plan);
    sink.on_execution(other);
  });
}

// Costs of one execution are the sum divided by the executions.
TEST(Compare, OfAShareThatIsSampledTheShareCounts) {
  const View all = view_with(another_execution(true)), share = view_with(another_execution(false));
  const auto both = comparison(all, share);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->executions_a, 2u);
  EXPECT_EQ(both->executions_b, 1u);
}

// An engine may register a plan for each execution: one without a sample is an execution of its tree all the
// same. As if it were of another plan, one execution would seem to cost more than it does.
TEST(Compare, AnExecutionWithoutSamplesCountsByTheTreeOfItsPlan) {
  v1::Plan again = test::sample_plan(), other = test::sample_plan();
  again.set_id(8);
  other.set_id(9);
  other.mutable_levels(0)->mutable_components(0)->set_kind("sort");
  profile::ExecutionRecord one = another_execution(true);
  one.plan = 8;
  View same = view_with(one, {again, other});
  one.plan = 9;
  View different = view_with(one, {again, other});
  const auto both = comparison(same, different);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ(both->executions_a, 2u);
  EXPECT_EQ(both->executions_b, 1u);
  const auto left_out = only_main_plan(same);
  ASSERT_TRUE(left_out) << left_out.error().message;
  EXPECT_EQ(left_out->left_out, 0u);
  EXPECT_EQ(same.selection.executions.size(), 2u);
  const auto of_different = only_main_plan(different);
  ASSERT_TRUE(of_different) << of_different.error().message;
  EXPECT_EQ(of_different->left_out, 1u);
  EXPECT_EQ(of_different->all, 2u);
  EXPECT_EQ(different.selection.executions.size(), 1u);
}

profile::ExecutionRecord of_unknown_runs() {
  profile::ExecutionRecord out = another_execution(true);
  out.labels = {{std::string(profile::kRunsLabel), std::string(profile::kRunsLabelValue)}};
  return out;
}

// It counts as one execution, and may be a thousand runs.
TEST(Compare, WhereRunsAreOfUnknownNumberNoChangeOfTheCostIsClaimed) {
  const View known = view_with(another_execution(true)), unknown = view_with(of_unknown_runs());
  const auto both = compare_json(known, unknown);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_EQ((*both)["runs_unknown"], true);
  EXPECT_TRUE((*both)["growth"].is_null());
  for (const Json& row : (*both)["operators"]) EXPECT_TRUE(row["growth"].is_null()) << row["name"];
  const auto same = compare_json(known, known);
  ASSERT_TRUE(same) << same.error().message;
  EXPECT_FALSE(same->contains("runs_unknown"));
  EXPECT_TRUE((*same)["growth"].is_object());
}

TEST(Compare, ExecutionsOfUnknownRunsAreLeftOutOfMany) {
  View view = view_with(of_unknown_runs());
  const auto others = only_main_plan(view);
  ASSERT_TRUE(others) << others.error().message;
  EXPECT_EQ(others->runs_unknown, 1u);
  EXPECT_EQ(others->all, 2u);
  EXPECT_EQ(view.selection.executions.size(), 1u);
  const auto both = comparison(view, view);
  ASSERT_TRUE(both) << both.error().message;
  EXPECT_TRUE(both->runs_known);
  EXPECT_EQ(both->executions_a, 1u);
}

}  // namespace
}  // namespace tailor::serve
