#include "daemon/session/sampling_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/pipeline/tee.h"

namespace tailor::session {
namespace {

constexpr ProcessId kNoted{7, 1};

class HeardNotes : public pipeline::Tee {
 public:
  HeardNotes() : Tee({}) {}
  void on_recording(const profile::RecordingInfo& info) override { told.push_back(info.sampling_notes); }
  std::vector<std::string> told;
};

class SamplingNotesTest : public testing::Test {
 protected:
  HeardNotes heard;
  RecordingFacts facts{heard};
  OverheadControl overhead{OverheadOptions{}, {}};
  SamplingNotes notes{facts, overhead};
};

TEST_F(SamplingNotesTest, OfWhatIsOpenedComeWithItsSources) {
  capture::Attached events;
  events.sources = {profile::Source{}};
  events.adds_up = 5;
  events.notes = {"no PEBS"};
  notes.opened(kNoted, events);
  EXPECT_THAT(heard.told, testing::ElementsAre("no PEBS"));
  EXPECT_EQ(facts.info().sources.size(), 1u);
  EXPECT_EQ(facts.info().aggregated_ns, 5u);
}

TEST_F(SamplingNotesTest, AreAddedUntilOthersTakeTheirPlace) {
  notes.set(kNoted, {"one"});
  notes.add(kNoted, "two");
  notes.set(kNoted, {"three"});
  EXPECT_THAT(heard.told, testing::ElementsAre("one", "one; two", "three"));
}

TEST_F(SamplingNotesTest, SharedCountersAreToldBesideThem) {
  notes.set(kNoted, {"one"});
  notes.add_counted(kNoted, {{"cycles", 100, 100}});
  EXPECT_THAT(heard.told, testing::ElementsAre("one")) << "it counted all the time";
  notes.add_counted(kNoted, {{"cycles", 100, 0}});
  ASSERT_EQ(heard.told.size(), 2u);
  const std::string half =
      capture::tell_shared_counters(std::vector<capture::CountedTime>{{"cycles", 200, 100}});
  EXPECT_EQ(heard.told[1], "one; " + half);
}

}  // namespace
}  // namespace tailor::session
