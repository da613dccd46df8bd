// Pipelines and operators that a filter names by their numbers: of which plan, and where there is none.
#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "daemon/query/sums/keys.h"
#include "daemon/serve/view.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

std::shared_ptr<const query::Profile> with_samples(const std::function<void(profile::ProfileSink&)>& give) {
  query::LoadOptions options;
  options.keep_samples = true;
  return std::make_shared<const query::Profile>(test::load(test::profile_bytes(give), options));
}

TEST(ViewNumbers, ANumberThatNoPlanHasIsAnError) {
  const auto profile = with_samples([](profile::ProfileSink& sink) { test::give_profile(sink, 2); });
  const auto error_of = [&](std::optional<std::uint32_t> op, std::optional<std::uint32_t> pipeline) {
    Filters filters;
    filters.op = op;
    filters.pipeline = pipeline;
    const auto view = make_view({profile, {}}, filters);
    return view ? std::string() : view.error().message;
  };
  const std::string no_operator = error_of(99, {});
  EXPECT_TRUE(no_operator.starts_with("there is no operator \"99\"; there are: 1 ")) << no_operator;
  EXPECT_NE(no_operator.find(", 5 "), std::string::npos) << no_operator;
  const std::string no_pipeline = error_of({}, 99);
  EXPECT_TRUE(no_pipeline.starts_with("there is no pipeline \"99\"; there are: 1 ")) << no_pipeline;
  EXPECT_EQ(error_of(2, {}), "");
  EXPECT_EQ(error_of(2, 99), no_pipeline);
}

// Two plans of one shape, with twice as many samples in the second one.
std::shared_ptr<const query::Profile> two_plans(PlanId second) {
  return with_samples([&](profile::ProfileSink& sink) {
    test::give_context(sink);
    v1::Plan other = test::sample_plan();
    other.set_id(second);
    sink.on_plan(test::kSampleProcess, test::kSampleStart, other);
    for (TimeNs i = 1; i <= 30; ++i) {
      profile::SampleRecord sample = test::ir_sample(test::kSampleStart + i * 1000, 1);
      if (i % 3 != 0) sample.attribution.plan = second;
      sink.on_samples(std::span(&sample, 1));
    }
  });
}

TEST(ViewNumbers, ANumberIsOfThePlanThatIsNamed) {
  const PlanId second = test::kSamplePlan + 100;
  const auto profile = two_plans(second);
  const auto samples_of = [&](Filters filters, const std::string& plan) {
    filters.plan = plan;
    const auto view = make_view({profile, {}}, filters);
    EXPECT_TRUE(view) << (view ? "" : view.error().message);
    std::uint64_t samples = 0;
    if (view) {
      for (const auto& [key, cell] : view->profile.cells()) samples += cell.samples;
    }
    return samples;
  };
  Filters in_pipeline, of_operator;
  in_pipeline.pipeline = 1;
  of_operator.op = 4;
  for (const Filters& filters : {in_pipeline, of_operator}) {
    EXPECT_EQ(samples_of(filters, ""), 30u);
    EXPECT_EQ(samples_of(filters, query::plan_key(test::kSampleProcess, test::kSamplePlan)), 10u);
    EXPECT_EQ(samples_of(filters, query::plan_key(test::kSampleProcess, second)), 20u);
  }
  in_pipeline.plan = "1.2.3";
  const auto none = make_view({profile, {}}, in_pipeline);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "there is no sample of plan \"1.2.3\" here");
}

}  // namespace
}  // namespace tailor::serve
