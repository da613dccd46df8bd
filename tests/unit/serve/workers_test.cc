#include "daemon/serve/workers.h"

#include <gtest/gtest.h>

#include <latch>

namespace tailor::serve {
namespace {

std::shared_ptr<Stop> within(std::chrono::milliseconds time) {
  return std::make_shared<Stop>(Stop::Clock::now() + time);
}

// Until it is told to end.
Result<std::string> endless(const Stop& stop) {
  while (!stop.stopped()) std::this_thread::yield();
  return stop.error();
}

TEST(Workers, GiveTheAnswer) {
  Workers workers(1, 4);
  const auto answer = workers.run(within(std::chrono::hours(1)),
                                  [](const Stop&) -> Result<std::string> { return std::string("42"); }, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "42");
}

TEST(Workers, ADeadlineEndsTheWaitAndTheWork) {
  Workers workers(1, 4);
  const auto answer = workers.run(within(std::chrono::milliseconds(1)), endless, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
  // The thread is free again.
  EXPECT_TRUE(workers.run(within(std::chrono::hours(1)),
                          [](const Stop&) -> Result<std::string> { return std::string(); }, {}));
}

TEST(Workers, NobodyWaitsForAnAnswerThatNobodyWants) {
  Workers workers(1, 4);
  const auto stop = within(std::chrono::hours(1));
  const auto answer = workers.run(stop, endless, [] { return true; });
  ASSERT_FALSE(answer);
  EXPECT_TRUE(stop->stopped());
}

TEST(Workers, TooManyAreTurnedAway) {
  Workers workers(1, 0);
  const auto answer = workers.run(within(std::chrono::hours(1)),
                                  [](const Stop&) -> Result<std::string> { return std::string(); }, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kExhausted);
}

TEST(Workers, WhoDoesNotWaitIsGivenTheAnswer) {
  std::latch given(1), goes_on(1);
  std::string text;
  Workers workers(1, 1);
  const auto stop = within(std::chrono::hours(1));
  const auto work = [&](const Stop&) -> Result<std::string> {
    goes_on.wait();
    return std::string("42");
  };
  ASSERT_TRUE(workers.start(stop, work, [&](Result<std::string> answer) {
    text = answer ? *answer : answer.error().message;
    given.count_down();
  }));
  EXPECT_EQ(text, "");
  goes_on.count_down();
  given.wait();
  EXPECT_EQ(text, "42");
}

TEST(Workers, TooManyThatDoNotWaitAreTurnedAwayToo) {
  Workers workers(1, 0);
  const Status taken = workers.start(
      std::make_shared<Stop>(), [](const Stop&) { return Result<std::string>("42"); },
      [](const Result<std::string>&) { ADD_FAILURE() << "it was not taken"; });
  ASSERT_FALSE(taken);
  EXPECT_EQ(taken.error().kind, ErrorKind::kExhausted);
}

TEST(Workers, EndingGivesAnswersThatSaySo) {
  std::latch running(1);
  std::string text;
  {
    Workers workers(1, 4);
    ASSERT_TRUE(workers.start(
        within(std::chrono::hours(1)),
        [&](const Stop& stop) {
          running.count_down();
          return endless(stop);
        },
        [&](const Result<std::string>& answer) { text = answer ? "" : answer.error().message; }));
    running.wait();
  }
  EXPECT_NE(text.find("cancelled"), std::string::npos);
}

TEST(Workers, EndingCancelsWhatRuns) {
  std::latch running(1);
  std::thread asker;
  {
    Workers workers(1, 4);
    asker = std::thread([&] {
      (void)workers.run(within(std::chrono::hours(1)),
                        [&](const Stop& stop) {
                          running.count_down();
                          return endless(stop);
                        },
                        {});
    });
    running.wait();
    // run() must be over before the workers are.
    workers.end();
    asker.join();
  }
}

TEST(Workers, WorkThatThrowsEndsItsRequestAlone) {
  Workers workers(1, 4);
  const auto stop = std::make_shared<Stop>();
  const auto large =
      workers.run(stop, [](const Stop&) -> Result<std::string> { throw std::bad_alloc(); }, {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kExhausted);
  const auto odd =
      workers.run(stop, [](const Stop&) -> Result<std::string> { throw std::runtime_error("odd"); }, {});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, ErrorKind::kInternal);
  const auto next = workers.run(stop, [](const Stop&) { return Result<std::string>("well"); }, {});
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, "well");
}

}  // namespace
}  // namespace tailor::serve
