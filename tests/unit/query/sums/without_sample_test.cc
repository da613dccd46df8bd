#include "daemon/query/sums/without_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "daemon/query/reports/plan_report.h"
#include "tests/support/added_runs.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"
#include "tests/support/worker_profile.h"

namespace tailor::query {
namespace {

using testing::ElementsAre;
using testing::Pair;

constexpr ExecutionHandle kFirst = 10;  // of those that give_quiet() makes
constexpr std::uint64_t kQuiet = 1002;  // two alone, and a thousand runs that are added up

profile::ExecutionRecord quiet(ExecutionHandle handle) {
  profile::ExecutionRecord execution;
  execution.process = test::kSampleProcess;
  execution.handle = handle;
  execution.id.bytes.fill(static_cast<std::uint8_t>(handle));
  execution.plan = test::kSamplePlan;
  execution.begin = test::kSampleStart + static_cast<TimeNs>(handle);
  execution.end = execution.begin + 10;
  return execution;
}

// Without a sample: `kQuiet`, and one that is not drawn.
void give_quiet(profile::ProfileSink& sink) {
  sink.on_execution(quiet(kFirst));
  sink.on_execution(quiet(kFirst + 1));
  profile::ExecutionRecord sum = quiet(kFirst + 2), not_drawn = quiet(kFirst + 3);
  sum.added = test::thousand_runs();
  sink.on_execution(sum);
  not_drawn.drawn = false;
  sink.on_execution(not_drawn);
}

std::string bytes_of_profile() {
  return test::profile_bytes([](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    give_quiet(sink);
  });
}

const InProcess<PlanId> kPlan{test::kSampleProcess, test::kSamplePlan};

TEST(WithoutSample, CountsEachRunOfThoseThatNoSampleNames) {
  const Profile profile = test::load(bytes_of_profile());
  const auto counts = executions_without_sample(profile, {}, 0);
  ASSERT_TRUE(counts);
  EXPECT_THAT(*counts, ElementsAre(Pair(kPlan, kQuiet)));
  const auto report = plan_report(profile, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->plans.at(0).executions, 1u);
  EXPECT_EQ(report->plans.at(0).executions_without_sample, kQuiet);
}

TEST(WithoutSample, OfThoseThatWereChosenOnly) {
  const Profile profile = test::load(bytes_of_profile());
  Selection selection;
  selection.executions = {{test::kSampleProcess, test::kSampleExecution}, {test::kSampleProcess, kFirst}};
  EXPECT_THAT(*executions_without_sample(profile, selection, 0), ElementsAre(Pair(kPlan, 1u)));
  selection.executions.erase({test::kSampleProcess, kFirst});
  EXPECT_TRUE(executions_without_sample(profile, selection, 0)->empty());
}

// The samples of a worker are its leader's, and a worker is no execution of its own.
TEST(WithoutSample, AWorkersSampleIsOneOfItsLeader) {
  const auto with_worker_of = [](std::uint8_t leader) {
    std::string id;
    for (int i = 0; i < 16; ++i) id += leader == kFirst ? "0a" : "ff";  // nobody has the other one
    return test::make_profile([&](profile::ProfileSink& sink) {
      test::give_context(sink);
      give_quiet(sink);
      test::give_worker(sink, id);
    });
  };
  const auto led = executions_without_sample(with_worker_of(kFirst), {}, 0);
  const auto alone = executions_without_sample(with_worker_of(0), {}, 0);
  ASSERT_TRUE(led && alone);
  EXPECT_EQ(alone->at(kPlan), kQuiet + 1) << "that of the context has no sample, too";
  EXPECT_EQ(led->at(kPlan), kQuiet);
}

// What another source saw is none of this one's.
TEST(WithoutSample, IsOfOneSource) {
  const auto other = executions_without_sample(test::load(bytes_of_profile()), {}, 1);
  ASSERT_TRUE(other);
  EXPECT_EQ(other->at(kPlan), kQuiet + 1);
}

TEST(WithoutSample, IsNotKnownOfAPartOrOfADamagedProfile) {
  LoadOptions options;
  options.keep_samples = true;
  const Profile whole = test::load(bytes_of_profile(), options);
  EXPECT_TRUE(executions_without_sample(whole, {}, 0));
  EXPECT_FALSE(
      executions_without_sample(whole.only([](const TimedSample&) { return true; }, "a part"), {}, 0));
  const std::string bytes = bytes_of_profile();
  const Profile cut = test::load(bytes.substr(0, bytes.size() - 8));
  EXPECT_FALSE(executions_without_sample(cut, {}, 0));
}

}  // namespace
}  // namespace tailor::query
