// When a tag is believed.
#include <gtest/gtest.h>

#include <random>

#include "daemon/capture/decode/agent_tag.h"
#include "tests/unit/attribute/fixture.h"

namespace tailor::attribute {
namespace {

using TagTest = AttributeTest;

TEST_F(TagTest, OfAPlanThatIsNotLiveAtTheTimeIsRefused) {
  ASSERT_TRUE(state.unload_plan(1, 600).ok());
  auto at = [&](TimeNs time) { return run(tagged(user_sample(kLibrary, time), tag_of(2, 3))); };
  EXPECT_EQ(at(109).reason, profile::Reason::kTagPlanNotLive);
  EXPECT_EQ(at(110).how, profile::How::kTag);
  EXPECT_EQ(at(599).how, profile::How::kTag);
  EXPECT_EQ(at(600).reason, profile::Reason::kTagPlanNotLive);
}

TEST_F(TagTest, OfAnEarlierGenerationIsRefused) {
  ASSERT_TRUE(state.unload_plan(1, 600).ok());
  ASSERT_TRUE(state.load_plan(test::small_plan(2, 1, 2), 700).ok());
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(2, 3, 1, 1))).reason, profile::Reason::kTagPlanNotLive);
  EXPECT_EQ(run(tagged(user_sample(kLibrary), tag_of(2, 3, 1, 2))).plan, 2u);
}

TEST_F(TagTest, WithComponentsThePlanDoesNotHaveIsRefused) {
  for (std::uint64_t tag : {tag_of(3, 1), tag_of(2, 4), tag_of(0, 0)}) {
    EXPECT_EQ(run(tagged(user_sample(kLibrary), tag)).reason, profile::Reason::kTagPlanNotLive) << tag;
  }
}

TEST_F(TagTest, WithoutTheLowerComponentNamesTheUpper) {
  profile::Attribution attribution = run(tagged(user_sample(kLibrary), tag_of(2, 0)));
  EXPECT_EQ(attribution.how, profile::How::kTag);
  EXPECT_EQ(attribution.level, 0u);
  EXPECT_EQ(attribution.link, 2u << 1);
}

TEST_F(TagTest, OfAPlanWithoutALowerTagLevelNamesTheUpper) {
  v1::Plan plan = test::small_plan(2, 2, 1);
  plan.set_has_tag_lower_level(false);
  ASSERT_TRUE(state.load_plan(plan, 200).ok());
  profile::Attribution attribution = run(tagged(user_sample(kLibrary), tag_of(2, 3, 2)));
  EXPECT_EQ(attribution.level, 0u);
  EXPECT_EQ(attribution.link, 2u << 1);
}

TEST_F(TagTest, IsBelievedIfItWasFoundInAWayWeKnow) {
  capture::Event sample = tagged(user_sample(kLibrary), tag_of(2, 3));
  sample.tag_from = static_cast<std::uint8_t>(capture::TagFrom::kUnwound);
  EXPECT_EQ(run(sample).how, profile::How::kTagUnwound);
  for (int way : {2, 3, 255}) {
    sample.tag_from = static_cast<std::uint8_t>(way);
    EXPECT_EQ(run(sample).reason, profile::Reason::kTagCheckFailed) << way;
  }
}

TEST_F(TagTest, MeansNothingInAnotherProcess) {
  process::ProcessState other{{43, 1}, {}};
  other.start_agent(2, kKey + 1, 100);
  ASSERT_TRUE(other.load_plan(test::small_plan(1, 1, 1), 110).ok());
  EXPECT_EQ(attribute(tagged(user_sample(kLibrary), tag_of(2, 3)), {}, &other).reason,
            profile::Reason::kTagCheckFailed);
}

TEST_F(TagTest, MeansNothingOnceTheAgentStopped) {
  state.stop_agent(500);
  EXPECT_EQ(run(tagged(user_sample(kLibrary, 499), tag_of(2, 3))).how, profile::How::kTag);
  EXPECT_EQ(run(tagged(user_sample(kLibrary, 500), tag_of(2, 3))).reason, profile::Reason::kNotRegistered);
}

// Random bits that look like a tag of the one live plan: 2^-16 pass the check, and few of those name
// components.
TEST_F(TagTest, RandomRegistersAreBelievedAtMostOnceInAMillion) {
  std::mt19937_64 random(1);
  int believed = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    believed += run(tagged(user_sample(kLibrary), random())).how != profile::How::kUnattributed;
  }
  EXPECT_LE(believed, 1);
}

}  // namespace
}  // namespace tailor::attribute
