// What doctor finds in a profile of an engine that uses its agent wrongly.
#include "viewer/cli/doctor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::cli {
namespace {

std::vector<Finding> findings_of(const std::string& check,
                                 const std::function<void(profile::ProfileSink&)>& give) {
  const query::Profile profile = test::make_profile(give);
  const auto report = query::plan_report(profile, {});
  EXPECT_TRUE(report);
  std::vector<Finding> found = look_at_profile(profile, *report);
  std::erase_if(found, [&](const Finding& each) { return each.check != check; });
  return found;
}

profile::ProcessRecord process(std::int32_t pid, const std::string& notice) {
  profile::ProcessRecord record;
  record.process = {pid, 1};
  record.agent_notices = {notice};
  return record;
}

// The profile keeps them, and processes that say the same are counted.
TEST(Doctor, SaysWhatAgentsNoticed) {
  EXPECT_TRUE(findings_of("agent", [](profile::ProfileSink& sink) { test::give_profile(sink, 1); }).empty());
  const auto found = findings_of("agent", [](profile::ProfileSink& sink) {
    test::give_profile(sink, 1);
    sink.on_process(process(50, "r15 is not kept"));
    sink.on_process(process(51, "r15 is not kept"));
    sink.on_process(process(52, "no tag for component 16384"));
  });
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].found, "the agent of process 52 says: no tag for component 16384");
  EXPECT_EQ(found[1].found, "the agent of process 50 says: r15 is not kept (2 processes say this)");
  EXPECT_TRUE(std::ranges::all_of(found, [](const Finding& each) {
    return each.state == Finding::State::kProblem && !each.remedy.empty();
  }));
}

TEST(Doctor, TellsExecutionsWithoutOperatorsFromNoEngine) {
  const auto plans = [](const auto& give) {
    const auto found = findings_of("plans", give);
    return found.size() == 1 ? found[0].found : "";
  };
  const auto give_sample = [](profile::ProfileSink& sink) {
    sink.on_samples(
        std::vector{test::unattributed_sample(test::kSampleStart, profile::Reason::kUnknownUserCode)});
  };
  EXPECT_EQ(plans([&](profile::ProfileSink& sink) {
              test::give_context(sink);
              give_sample(sink);
            }),
            "executions were recorded, but no sample has an operator of their plans");
  EXPECT_EQ(plans([&](profile::ProfileSink& sink) {
              profile::RecordingInfo info;
              info.start = test::kSampleStart;
              info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1'000'000, false});
              sink.on_recording(info);
              give_sample(sink);
            }),
            "no query plan was recorded");
  EXPECT_NE(
      plans([](profile::ProfileSink& sink) { test::give_profile(sink, 1); }).find("in operators of 1 plan"),
      std::string::npos);
}

}  // namespace
}  // namespace tailor::cli
