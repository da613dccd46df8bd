#include "daemon/serve/workers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <string>
#include <vector>

namespace tailor::serve {
namespace {

std::shared_ptr<Stop> within(std::chrono::milliseconds time) {
  return std::make_shared<Stop>(Stop::Clock::now() + time);
}

const Asker kRoot{"user 0", true}, kAnna{"user 1000"}, kBen{"user 1001"}, kToken{"token t"};

// Until it is told to end.
Result<std::string> endless(const Stop& stop) {
  while (!stop.stopped()) std::this_thread::yield();
  return stop.error();
}

TEST(Workers, GiveTheAnswer) {
  Workers workers(1, 4);
  const auto answer = workers.run(kRoot, within(std::chrono::hours(1)),
                                  [](const Stop&) -> Result<std::string> { return std::string("42"); }, {});
  ASSERT_TRUE(answer);
  EXPECT_EQ(*answer, "42");
}

TEST(Workers, ADeadlineEndsTheWaitAndTheWork) {
  Workers workers(1, 4);
  const auto answer = workers.run(kRoot, within(std::chrono::milliseconds(1)), endless, {});
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kUnavailable);
  // The thread is free again.
  EXPECT_TRUE(workers.run(kRoot, within(std::chrono::hours(1)),
                          [](const Stop&) -> Result<std::string> { return std::string(); }, {}));
}

TEST(Workers, NobodyWaitsForAnAnswerThatNobodyWants) {
  Workers workers(1, 4);
  const auto stop = within(std::chrono::hours(1));
  const auto answer = workers.run(kRoot, stop, endless, [] { return true; });
  ASSERT_FALSE(answer);
  EXPECT_TRUE(stop->stopped());
}

TEST(Workers, TooManyAreTurnedAway) {
  Workers workers(1, 0);
  const auto answer = workers.run(kRoot, within(std::chrono::hours(1)),
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
  ASSERT_TRUE(workers.start(kRoot, stop, work, [&](Result<std::string> answer) {
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
      kRoot, std::make_shared<Stop>(), [](const Stop&) { return Result<std::string>("42"); },
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
        kRoot, within(std::chrono::hours(1)),
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
      (void)workers.run(kRoot, within(std::chrono::hours(1)),
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
      workers.run(kRoot, stop, [](const Stop&) -> Result<std::string> { throw std::bad_alloc(); }, {});
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().kind, ErrorKind::kExhausted);
  const auto odd = workers.run(
      kRoot, stop, [](const Stop&) -> Result<std::string> { throw std::runtime_error("odd"); }, {});
  ASSERT_FALSE(odd);
  EXPECT_EQ(odd.error().kind, ErrorKind::kInternal);
  const auto next = workers.run(kRoot, stop, [](const Stop&) { return Result<std::string>("well"); }, {});
  ASSERT_TRUE(next);
  EXPECT_EQ(*next, "well");
}

// Requests that take until they are let go.
class SlowRequests {
 public:
  explicit SlowRequests(Workers& workers) : workers_(workers) {}

  Status ask(const Asker& asker) {
    return workers_.start(
        asker, stop_,
        [this, who = asker.who](const Stop&) -> Result<std::string> {
          std::unique_lock lock(mutex_);
          begun_.push_back(who);
          changed_.notify_all();
          changed_.wait(lock, [&] { return may_end_ > 0; });
          --may_end_;
          return std::string();
        },
        [this](const Result<std::string>&) {
          std::lock_guard lock(mutex_);
          ++ended_;
          changed_.notify_all();
        });
  }
  // Who was served, in that order, once it is this many.
  std::vector<std::string> begun(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= count; });
    return begun_;
  }
  void let_go(std::size_t count) {
    std::lock_guard lock(mutex_);
    may_end_ += count;
    changed_.notify_all();
  }
  void wait_for_ends(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return ended_ >= count; });
  }

 private:
  Workers& workers_;
  const std::shared_ptr<Stop> stop_ = within(std::chrono::hours(1));
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> begun_;
  std::size_t may_end_ = 0, ended_ = 0;
};

// Twin: with one queue for all, root is never served here.
TEST(Workers, SlowRequestsOfStrangersDoNotMakeRootWait) {
  Workers workers(4, 32);
  SlowRequests slow(workers);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(slow.ask(kAnna));
  (void)slow.begun(2);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(slow.ask(kBen));
  (void)slow.begun(3);
  ASSERT_TRUE(slow.ask(kToken));
  using Taken = std::map<std::string, std::size_t>;
  EXPECT_EQ(workers.running().taken(), (Taken{{"user 1000", 2}, {"user 1001", 1}}));
  EXPECT_EQ(workers.waiting().taken(), (Taken{{"token t", 1}, {"user 1000", 2}, {"user 1001", 3}}));
  const auto answer = workers.run(kRoot, within(std::chrono::hours(1)),
                                  [](const Stop&) { return Result<std::string>("42"); }, {});
  ASSERT_TRUE(answer);
  slow.let_go(9);
  slow.wait_for_ends(9);
  EXPECT_TRUE(workers.waiting().taken().empty());
}

TEST(Workers, AskersTakeTurns) {
  Workers workers(2, 32);  // one for strangers
  SlowRequests slow(workers);
  ASSERT_TRUE(slow.ask(kAnna));
  (void)slow.begun(1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(slow.ask(kAnna));
  ASSERT_TRUE(slow.ask(kBen));
  ASSERT_TRUE(slow.ask(kToken));
  slow.let_go(6);
  const std::vector<std::string> in_turn{"user 1000", "user 1001", "token t",
                                         "user 1000", "user 1000", "user 1000"};
  EXPECT_EQ(slow.begun(6), in_turn);
  slow.wait_for_ends(6);
}

TEST(Workers, WhoWaitsWithMuchIsTurnedAwayAlone) {
  Workers workers(4, 8);
  SlowRequests slow(workers);
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(slow.ask(kAnna));
  (void)slow.begun(2);
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(slow.ask(kAnna));
  const Status beyond = slow.ask(kAnna);
  ASSERT_FALSE(beyond);
  EXPECT_EQ(beyond.error().kind, ErrorKind::kExhausted);
  EXPECT_NE(beyond.error().message.find("of 8 places one asker has 4 at most"), std::string::npos);
  EXPECT_EQ(workers.waiting().refused(), (std::map<std::string, std::uint64_t>{{"user 1000", 1}}));
  EXPECT_TRUE(slow.ask(kBen));
  EXPECT_TRUE(slow.ask(kRoot));
  slow.let_go(8);
  slow.wait_for_ends(8);
}

TEST(Workers, EndingGivesUpWhatMayNotRunYet) {
  std::atomic<int> answers = 0;
  {
    Workers workers(3, 8);
    std::latch running(1);
    const auto work = [&](const Stop& stop) {
      running.count_down();
      return endless(stop);
    };
    const auto count = [&](const Result<std::string>&) { ++answers; };
    ASSERT_TRUE(workers.start(kAnna, within(std::chrono::hours(1)), work, count));
    running.wait();
    for (int i = 0; i < 3; ++i)
      ASSERT_TRUE(workers.start(kAnna, within(std::chrono::hours(1)), endless, count));
  }
  EXPECT_EQ(answers, 4);
}

}  // namespace
}  // namespace tailor::serve
