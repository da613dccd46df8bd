// Threads that live less than a period, thousands a second: timers of CPUs see them, those of threads begin
// anew with each.
#include "tests/integration/session/record_fixture.h"

namespace tailor::session {
namespace {

class ShortLives : public RecordTest {
 protected:
  RecordOutcome churn() {
    return run({"sh", "-c", "exec " + std::string(TARGETS) + "/thread_churn 5000 3000 200 > /dev/null"});
  }
  // The bounds are wide because the loop may keep step with the timer; samples counted twice would show.
  static void expect_covered(const RecordOutcome& outcome, double least = 0.75) {
    EXPECT_GT(outcome.recording.cpu_used_ns, 100'000'000u);
    EXPECT_GT(coverage_of(outcome), least);
    EXPECT_LT(coverage_of(outcome), 1.6);
  }
};

TEST_F(ShortLives, AreCoveredByBpf) {
  test::undisturbed([&] {
    sampled_by = capture::SampledBy::kBpf;
    const RecordOutcome outcome = churn();
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    expect_covered(outcome);
  });
}

TEST_F(ShortLives, AreCoveredByOneEventPerCpu) {
  test::undisturbed([&] {
    sampled_by = capture::SampledBy::kPerf;
    placement = capture::Placement::kPerCpu;
    const RecordOutcome outcome = churn();
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    expect_covered(outcome);
  });
}

// The twin that must fail.
TEST_F(ShortLives, AreMissedByEventsOfThreads) {
  test::undisturbed([&] {
    sampled_by = capture::SampledBy::kPerf;
    placement = capture::Placement::kPerThread;
    const RecordOutcome outcome = churn();
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    EXPECT_LT(coverage_of(outcome), 0.5);
  });
}

TEST_F(ShortLives, AreNoticedAndThenCovered) {
  test::undisturbed([&] {
    sampled_by = capture::SampledBy::kPerf;
    const RecordOutcome outcome = churn();
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    EXPECT_NE(outcome.sampling_notes.find("threads and processes a second are made"), std::string::npos)
        << outcome.sampling_notes;
    expect_covered(outcome, 0.6);
  });
}

}  // namespace
}  // namespace tailor::session
