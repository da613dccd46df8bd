// From the marks of an engine to the regions of its samples, at 100,000 changes a second.
#include <array>

#include "tests/integration/session/record_fixture.h"

namespace tailor::session {
namespace {

class MovingRegions : public RecordTest {
 protected:
  MovingRegions() { memory = true; }

  struct Found {
    double first, second, none;  // of the samples with an address: in regions of that kind
  };
  // A busy host gives a recording few samples: then it is longer the next time.
  Found record_moving(const std::vector<std::string>& more = {}) {
    Found found{};
    for (int seconds = 1; seconds <= 64; seconds *= 2) {
      found = record_for(seconds, more);
      if (!skipped.empty() || addresses > kEnough) break;
    }
    return found;
  }

  Found record_for(int seconds, const std::vector<std::string>& more) {
    std::vector<std::string> command{std::string(TARGETS) + "/moving_regions", std::to_string(seconds),
                                     directory + "/changes"};
    command.insert(command.end(), more.begin(), more.end());
    profile = {};
    outcome = run(std::move(command));
    std::ifstream(directory + "/changes") >> changes;
    double all = 0;
    samples = 0;
    std::array<double, 3> of{};
    for (const profile::SampleRecord& sample : profile.samples) {
      if (sample.attribution.execution == 0) continue;
      samples += 1;
      if (sample.address_from == profile::AddressFrom::kNone) continue;
      all += 1;
      // Kinds have names; their numbers are the agent's affair. All other memory counts as no region.
      const auto kind = profile.region_kinds.find(sample.region);
      const std::string name = kind == profile.region_kinds.end() ? "" : kind->second;
      of.at(name == "kind 1" ? 1 : name == "kind 2" ? 2 : 0) += 1;
    }
    addresses = all;
    return {of[1] / all, of[2] / all, of[0] / all};
  }

  static constexpr double kEnough = 400;  // samples with an address, to judge shares by
  RecordOutcome outcome;
  double samples = 0, addresses = 0;
  std::uint64_t changes = 0;
};

TEST_F(MovingRegions, AreWhatTheyWereAtTheTimeOfTheSample) {
  test::undisturbed([&] {
    const Found found = record_moving();
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    const profile::Accounting& total = outcome.total;
    std::printf("%.0f samples with an address: %.3f %.3f, in no region %.4f; of %lu changes %lu lost\n",
                addresses, found.first, found.second, found.none, changes, total.log_lost);
    ASSERT_GT(addresses, kEnough);
    EXPECT_GT(addresses / samples, 0.5);
    // A region is there but for the moments between two; a timer's sample may fall into one.
    const double chance = by_chance(0.25, addresses);
    EXPECT_NEAR(found.first, 0.25, 0.02 + chance);
    EXPECT_NEAR(found.second, 0.75, 0.02 + chance);
    EXPECT_LT(found.none, 0.02);
    EXPECT_GT(static_cast<double>(changes), 30'000 * samples / kFrequency)
        << "more than 100,000 a second of CPU time are usual";
    EXPECT_EQ(total.log_records + total.log_lost, changes + 2) << "with the marks of its execution";
    EXPECT_LT(total.log_lost, changes / 20) << "on a busy host the daemon may not get to run in time";
  });
}

// The twin: an engine that tells it the wrong way round.
TEST_F(MovingRegions, ToldWronglyAreFoundWrongly) {
  const Found found = record_moving({"wrong"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  EXPECT_GT(found.first, 0.5);
}

}  // namespace
}  // namespace tailor::session
