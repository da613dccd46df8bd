#include "daemon/serve/bounds_view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <utility>

#include "daemon/serve/service.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::serve {
namespace {

constexpr BoundsRequest kRequest = {.cache_bytes = std::uint64_t{1} << 20, .rates = {.bytes = 1e9}};

// Of one execution, whose plan says what a scan reads.
View view_with_accesses(const Filters& filters = {}, bool has_ended = true) {
  query::LoadOptions options;
  options.keep_samples = options.keep_activity = true;
  const auto give = [has_ended](profile::ProfileSink& sink) {
    test::give_profile(sink, 20);
    v1::Plan plan = test::sample_plan();
    v1::Access& access = *plan.mutable_levels(1)->mutable_components(3)->add_accesses();
    access.set_region("lineitem.l_shipdate");
    access.set_pattern(v1::ACCESS_SEQUENTIAL);
    access.set_pipeline(2);
    access.set_item_bytes(8);
    access.set_reads(true);
    access.mutable_items()->set_fixed(1'000'000);
    sink.on_plan(test::kSampleProcess, 0, plan);
    if (has_ended) return;
    profile::ExecutionRecord running;
    running.process = test::kSampleProcess;
    running.handle = test::kSampleExecution;
    running.plan = test::kSamplePlan;
    running.begin = test::kSampleStart;
    sink.on_execution(running);
  };
  auto profile = std::make_shared<const query::Profile>(test::load(test::profile_bytes(give), options));
  auto view = make_view({profile, {}}, filters);
  EXPECT_TRUE(view) << (view ? "" : view.error().message);
  return std::move(*view);
}

TEST(BoundsView, DividesByTheExecutions) {
  const View view = view_with_accesses();
  const auto bounds = bounds_of(view, kRequest);
  ASSERT_TRUE(bounds) << bounds.error().message;
  ASSERT_EQ(bounds->plans.size(), 1u);
  const query::BoundsPart& part = bounds->plans[0];
  EXPECT_EQ(part.not_measured, "");
  ASSERT_TRUE(part.whole.measured);
  EXPECT_GT(part.whole.measured->ns, 0);
  ASSERT_TRUE(part.whole.memory_ns);
  EXPECT_NEAR(*part.whole.memory_ns, 8e6 - (1 << 20), 1e-3)
      << "8 MB at 1 GB a second, but for what the cache may have held";
  const auto answer = view_answer(view, BoundsView{kRequest});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ((*answer)["cache_bytes"], std::uint64_t{1} << 20);
  EXPECT_EQ((*answer)["plans"][0]["rows"].size(), 1u);
}

TEST(BoundsView, PartsOfAnExecutionAreNotMeasured) {
  const auto running = bounds_of(view_with_accesses({}, false), kRequest);
  ASSERT_TRUE(running) << running.error().message;
  EXPECT_THAT(running->plans[0].not_measured, testing::HasSubstr("runs still"));
  Filters first_half;
  first_half.to_ns = 150'000'000;
  const auto part = bounds_of(view_with_accesses(first_half), kRequest);
  ASSERT_TRUE(part) << part.error().message;
  EXPECT_THAT(part->plans[0].not_measured, testing::HasSubstr("chosen"));
  EXPECT_FALSE(part->plans[0].whole.measured);
}

TEST(BoundsView, NeedsNoSingleSamples) {
  EXPECT_EQ(detail_of(BoundsView{kRequest}), Detail::kSums);
}

}  // namespace
}  // namespace tailor::serve
