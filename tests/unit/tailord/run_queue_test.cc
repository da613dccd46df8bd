#include "daemon/tailord/run_queue.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace tailor::tailord {
namespace {

TEST(RunQueue, TheKernelsTextIsRead) {
  EXPECT_EQ(runnable_threads("0.20 0.18 0.12 3/512 11206"), 3u);
  EXPECT_EQ(runnable_threads("100.20 90.18 80.12 4711/65000 11206\n"), 4711u);
  for (const char* wrong : {"", "0.2", "0.20 0.18 0.12", "0.20 0.18 0.12 3", "0.20 0.18 0.12 /512 1",
                            "0.20 0.18 0.12 x/512 1", "0.20 0.18 0.12 3x/512 1", "0.20 0.18 0.12 -3/512 1"})
    EXPECT_EQ(runnable_threads(wrong), std::nullopt) << wrong;
}

class RunQueueTest : public testing::Test {
 protected:
  RunQueueTest() { std::filesystem::create_directories(folder_); }
  ~RunQueueTest() override { std::filesystem::remove_all(folder_); }
  void say(int threads) {
    std::ofstream(folder_ / "loadavg") << "0.20 0.18 0.12 " << threads << "/512 11206\n";
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("run_queue." + std::to_string(::getpid()));
  RunQueue queue_{folder_};
};

TEST_F(RunQueueTest, IsTheAverageOfSeconds) {
  say(9);  // one of them is the reader
  TimeNs now = 0;
  EXPECT_EQ(queue_.average(now), std::nullopt) << "one look says nothing";
  for (; now < RunQueue::kAtLeast; now += RunQueue::kEvery) (void)queue_.average(now);
  EXPECT_EQ(queue_.average(now), 8.0);
  say(1);
  EXPECT_EQ(queue_.average(now + RunQueue::kEvery / 2), 8.0) << "nobody looks so often";
  const TimeNs end = now + RunQueue::kOver;
  for (; now < end; now += RunQueue::kEvery) (void)queue_.average(now);
  const auto after = queue_.average(now + RunQueue::kEvery);
  ASSERT_TRUE(after);
  EXPECT_EQ(*after, 0.0) << "what was long ago does not count";
}

TEST_F(RunQueueTest, WithoutTheFileNothingIsKnown) {
  say(9);
  TimeNs now = 0;
  for (; now <= RunQueue::kAtLeast; now += RunQueue::kEvery) (void)queue_.average(now);
  ASSERT_TRUE(queue_.average(now));
  std::filesystem::remove(folder_ / "loadavg");
  EXPECT_EQ(queue_.average(now + RunQueue::kEvery), std::nullopt);
  say(9);
  EXPECT_EQ(queue_.average(now + 2 * RunQueue::kEvery), std::nullopt) << "and it begins anew";
}

}  // namespace
}  // namespace tailor::tailord
