#include "daemon/os/queue_time.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <cstdint>
#include <thread>

namespace tailor::os {
namespace {

void use_one_cpu() {
  cpu_set_t all, one;
  CPU_ZERO(&one);
  ASSERT_EQ(::sched_getaffinity(0, sizeof all, &all), 0);
  for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu) {
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
}

// Two threads that want the same CPU wait for each other.
TEST(QueueTime, GrowsWhileAnotherHasTheCpu) {
  std::atomic<bool> over{false};
  std::thread([&over] {
    use_one_cpu();
    const QueueTime queue = QueueTime::of_this_thread("/proc");
    const std::uint64_t before = queue.ns();
    std::thread rival([&over] {
      while (!over) {
      }
    });
    while (queue.ns() == before) {
    }
    over = true;
    rival.join();
    EXPECT_GT(queue.ns(), before);
  }).join();
}

TEST(QueueTime, IsZeroWhereNobodyCountsIt) {
  EXPECT_EQ(QueueTime::of_this_thread("/no/such/folder").ns(), 0u);
}

}  // namespace
}  // namespace tailor::os
