#include "daemon/os/user_threads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <vector>

namespace tailor::os {
namespace {

// Work that waits until it is let go, as a file of a stranger does.
class Gate {
 public:
  UserThreads::Work work() {
    return [state = state_] {
      state->reached.set_value();
      state->open.get_future().wait();
    };
  }
  void wait_until_reached() { state_->reached.get_future().wait(); }
  void let_go() { state_->open.set_value(); }

 private:
  struct State {
    std::promise<void> reached, open;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

TEST(UserThreads, WhoMakesHisThreadWaitDelaysNobodyElse) {
  UserThreads threads(2);
  Gate gate;
  threads.add(1, gate.work());
  gate.wait_until_reached();
  bool second = false;
  threads.add(1, [&] { second = true; });
  for (std::uint32_t uid = 2; uid < 6; ++uid) {
    std::promise<void> done;
    threads.add(uid, [&] { done.set_value(); });
    done.get_future().wait();
  }
  EXPECT_FALSE(second) << "his own work waits for its turn";
  gate.let_go();
  std::promise<void> done;
  threads.add(1, [&] { done.set_value(); });
  done.get_future().wait();
  EXPECT_TRUE(second);
}

TEST(UserThreads, WorkOfAUserIsDoneInOrder) {
  UserThreads threads(4);
  std::vector<int> order;
  std::promise<void> done;
  for (int i = 0; i < 100; ++i) threads.add(7, [&, i] { order.push_back(i); });
  threads.add(7, [&] { done.set_value(); });
  done.get_future().wait();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

TEST(UserThreads, UsersBeyondTheThreadsWaitForTheirTurn) {
  UserThreads threads(1);
  Gate gate;
  threads.add(1, gate.work());
  gate.wait_until_reached();
  std::promise<void> done;
  threads.add(2, [&] { done.set_value(); });
  auto future = done.get_future();
  EXPECT_EQ(future.wait_for(std::chrono::seconds(0)), std::future_status::timeout);
  gate.let_go();
  future.wait();
}

TEST(UserThreads, NobodyWaitsForWorkThatHangs) {
  Gate gate;
  {
    UserThreads threads(1);
    threads.add(1, gate.work());
    gate.wait_until_reached();
  }
  gate.let_go();
}

}  // namespace
}  // namespace tailor::os
