#include "daemon/session/recording_facts.h"

#include <gtest/gtest.h>

#include "daemon/pipeline/tee.h"

namespace tailor::session {
namespace {

class Heard : public pipeline::Tee {
 public:
  Heard() : Tee({}) {}
  void on_recording(const profile::RecordingInfo& info) override { infos.push_back(info); }
  std::vector<profile::RecordingInfo> infos;
};

class RecordingFactsTest : public testing::Test {
 protected:
  RecordingFactsTest() {
    profile::RecordingInfo info;
    info.host = "here";
    info.clock_source = "module";
    info.clock_error_ns = 10;
    facts.begin(info);
  }

  Heard heard;
  RecordingFacts facts{heard};
};

TEST_F(RecordingFactsTest, AreToldAtTheBegin) {
  ASSERT_EQ(heard.infos.size(), 1u);
  EXPECT_EQ(heard.infos[0].host, "here");
}

TEST_F(RecordingFactsTest, AClockIsToldWhenItIsAnotherOrWorse) {
  facts.clock("module", 10);
  facts.clock("module", 9);
  EXPECT_EQ(heard.infos.size(), 1u);
  facts.clock("module", 11);
  ASSERT_EQ(heard.infos.size(), 2u);
  EXPECT_EQ(heard.infos[1].clock_error_ns, 11u);
  facts.clock("calibration", 11);
  ASSERT_EQ(heard.infos.size(), 3u);
  EXPECT_EQ(heard.infos[2].clock_source, "calibration");
}

TEST_F(RecordingFactsTest, AWallClockIsToldWhenItWasSet) {
  facts.wall_clock(std::nullopt);
  EXPECT_EQ(heard.infos.size(), 1u);
  facts.wall_clock(123);
  ASSERT_EQ(heard.infos.size(), 2u);
  EXPECT_EQ(heard.infos[1].wall_clock_ns, 123u);
}

TEST_F(RecordingFactsTest, TheSamplingNotesAreToldWhenTheyOrTheSourcesChange) {
  const std::vector<std::string> notes = {"no PEBS", "one of two"};
  facts.opened({profile::Source{}}, 5);
  EXPECT_EQ(heard.infos.size(), 1u);
  facts.sampling_notes(notes);
  facts.sampling_notes(notes);
  ASSERT_EQ(heard.infos.size(), 2u);
  EXPECT_EQ(heard.infos[1].sampling_notes, "no PEBS; one of two");
  EXPECT_EQ(heard.infos[1].sources.size(), 1u);
  EXPECT_EQ(heard.infos[1].aggregated_ns, 5u);
  facts.opened({profile::Source{}, profile::Source{}}, 3);
  facts.sampling_notes(notes);
  ASSERT_EQ(heard.infos.size(), 3u);
  EXPECT_EQ(heard.infos[2].sources.size(), 2u);
  EXPECT_EQ(heard.infos[2].aggregated_ns, 5u) << "the longest of all";
}

}  // namespace
}  // namespace tailor::session
