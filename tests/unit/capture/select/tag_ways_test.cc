#include "daemon/capture/select/tag_ways.h"

#include <gtest/gtest.h>

namespace tailor::capture {
namespace {

// The table once more, by hand.
struct Expected {
  Mechanism mechanism;
  SampledBy by;
  TagWay user, kernel;
  bool slot;
};
constexpr Expected kExpected[] = {
    {Mechanism::kTimer, SampledBy::kPerf, TagWay::kRegister, TagWay::kSaved, false},
    {Mechanism::kTimer, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true},
    {Mechanism::kCounter, SampledBy::kPerf, TagWay::kRegister, TagWay::kUserIp, false},
    {Mechanism::kCounter, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true},
    {Mechanism::kSoftware, SampledBy::kPerf, TagWay::kRegister, TagWay::kSaved, false},
    {Mechanism::kSoftware, SampledBy::kBpf, TagWay::kRegister, TagWay::kSaved, true},
    {Mechanism::kPebs, SampledBy::kPerf, TagWay::kRecord, TagWay::kNotTaken, false},
    {Mechanism::kIbs, SampledBy::kPerf, TagWay::kRegister, TagWay::kUserIp, false},
};

TEST(TagWays, EveryRowAndNoOther) {
  EXPECT_EQ(tag_rows().size(), std::size(kExpected));
  for (const Expected& expected : kExpected) {
    const TagRow* row = find_tag_row(expected.mechanism, expected.by);
    ASSERT_NE(row, nullptr);
    EXPECT_EQ(row->user, expected.user);
    EXPECT_EQ(row->kernel, expected.kernel);
    EXPECT_EQ(row->slot, expected.slot);
  }
  EXPECT_EQ(find_tag_row(Mechanism::kPebs, SampledBy::kBpf), nullptr);
  EXPECT_EQ(find_tag_row(Mechanism::kIbs, SampledBy::kBpf), nullptr);
}

TEST(TagWays, BpfSeesMoreOnlyWherePerfHides) {
  for (Mechanism mechanism :
       {Mechanism::kTimer, Mechanism::kPebs, Mechanism::kIbs, Mechanism::kCounter, Mechanism::kSoftware}) {
    EventSpec event;
    event.mechanism = mechanism;
    EXPECT_EQ(bpf_sees_more(event, false), mechanism == Mechanism::kCounter);
    EXPECT_FALSE(bpf_sees_more(event, true));
  }
}

TEST(TagWays, ARecordingCanSayItsRow) {
  EventSpec event;
  event.name = "cycles";
  event.mechanism = Mechanism::kCounter;
  EXPECT_EQ(
      describe(event, SampledBy::kPerf, false),
      "cycles by perf: tag from the register; in kernel mode hidden: the user IP only (perf hides the saved "
      "registers in a non-maskable interrupt)");
  EXPECT_NE(describe(event, SampledBy::kBpf, true)
                .find("the register or the thread's memory slot; in kernel mode not sampled"),
            std::string::npos);
}

}  // namespace
}  // namespace tailor::capture
