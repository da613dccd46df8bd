// Every view of a selection without samples says why it has none.
#include "daemon/query/time/no_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/query/reports/flame.h"
#include "daemon/query/reports/plan_report.h"
#include "daemon/query/time/elapsed_time.h"
#include "daemon/query/time/thread_lanes.h"
#include "daemon/query/time/timeline.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::Each;
using testing::HasSubstr;

constexpr ExecutionHandle kWithoutSamples = 50;

// One execution has samples, another one has none.
Profile profile_without_samples(bool drawn) {
  return test::make_profile([&](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.handle = kWithoutSamples;
    execution.id.bytes.fill(static_cast<std::uint8_t>(kWithoutSamples));
    execution.plan = test::kSamplePlan;
    execution.begin = test::kSampleStart;
    execution.end = execution.begin + 1000;
    execution.drawn = drawn;
    sink.on_execution(execution);
  });
}

template <typename Answer>
std::string refusal_of(const Result<Answer>& answer) {
  return answer ? "an answer" : answer.error().message;
}

std::vector<std::string> refusals_of(const Profile& profile) {
  const Selection selection{.executions = {{test::kSampleProcess, kWithoutSamples}}};
  const std::vector<FlameLevel> order = {FlameLevel::kOperator};
  return {refusal_of(plan_report(profile, selection)),
          refusal_of(elapsed_time(profile, selection)),
          refusal_of(timeline(profile, selection, {})),
          refusal_of(thread_report(profile, selection, kTimeMin, kTimeMax, {})),
          refusal_of(flame_report(profile, selection, order)),
          refusal_of(flame_report_with_functions(profile, selection, order, {}))};
}

TEST(NoSample, EveryViewSaysThatTheExecutionIsTooShort) {
  EXPECT_THAT(refusals_of(profile_without_samples(true)), Each(HasSubstr("its execution has no sample")));
}

TEST(NoSample, EveryViewSaysThatTheExecutionIsNotDrawn) {
  EXPECT_THAT(refusals_of(profile_without_samples(false)), Each(HasSubstr("none of these was drawn")));
}

}  // namespace
}  // namespace tailor::query
