// Requests whose answer waits for the recorder.
#include "daemon/tailord/control_work.h"

#include <gtest/gtest.h>

#include <latch>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tailor::tailord {
namespace {

// The promises of a server.
class Server {
 public:
  control::ControlServer::Promise promise() {
    return [this](std::chrono::milliseconds patience) -> Result<std::shared_ptr<control::LateReply>> {
      if (refuses) return exhausted("too many wait");
      return promised.emplace_back(std::make_shared<control::LateReply>(std::make_shared<const UniqueFd>(),
                                                                        Stop::Clock::now() + patience));
    };
  }
  std::string wait_for(std::size_t which) const {
    for (;;) {
      if (auto reply = promised.at(which)->take()) return reply->error();
      std::this_thread::yield();
    }
  }
  bool refuses = false;
  std::vector<std::shared_ptr<control::LateReply>> promised;
};

v1::ControlRequest rate(std::uint32_t frequency) {
  v1::ControlRequest request;
  request.mutable_rate()->set_frequency(frequency);
  return request;
}

// Says which request it was.
v1::ControlReply named(const v1::ControlRequest& request) {
  v1::ControlReply reply;
  reply.set_error(std::to_string(request.rate().frequency()));
  return reply;
}

TEST(ControlWork, IsDoneInOrderBesideItsAsker) {
  Server server;
  std::latch go(1);
  std::vector<std::uint32_t> done;
  ControlWork work([&](const v1::ControlRequest& request) {
    go.wait();
    done.push_back(request.rate().frequency());
    return named(request);
  });
  for (std::uint32_t i = 0; i < 3; ++i) ASSERT_TRUE(work.start(rate(i), server.promise()).ok());
  EXPECT_FALSE(server.promised[0]->take());  // and nobody has waited for it
  go.count_down();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(server.wait_for(i), std::to_string(i));
  EXPECT_EQ(done, (std::vector<std::uint32_t>{0, 1, 2}));
}

TEST(ControlWork, OfThoseWhoAreGoneWhatTheyAskedForIsDoneButNoFlush) {
  Server server;
  std::latch go(1);
  std::vector<std::uint32_t> done;
  int flushes = 0;
  ControlWork work([&](const v1::ControlRequest& request) {
    go.wait();
    if (request.has_flush()) ++flushes;
    if (request.has_rate()) done.push_back(request.rate().frequency());
    return named(request);
  });
  v1::ControlRequest flush;
  flush.mutable_flush();
  ASSERT_TRUE(work.start(rate(0), server.promise()).ok());
  ASSERT_TRUE(work.start(rate(1), server.promise()).ok());
  ASSERT_TRUE(work.start(flush, server.promise()).ok());
  ASSERT_TRUE(work.start(rate(2), server.promise()).ok());
  for (const std::size_t gone : {1, 2}) server.promised[gone]->stop()->cancel();
  go.count_down();
  EXPECT_EQ(server.wait_for(3), "2");
  EXPECT_EQ(done, (std::vector<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(flushes, 0);
}

TEST(ControlWork, OfThoseWhoAreGoneItKeepsNoMoreThanItMay) {
  Server server;
  std::latch go(1);
  ControlWork work([&](const v1::ControlRequest& request) {
    go.wait();
    return named(request);
  });
  std::size_t taken = 0;
  Status begun = Ok{};
  while (taken < 1000 && begun.ok()) {
    begun = work.start(rate(1), server.promise());
    if (!begun.ok()) break;
    server.promised.back()->stop()->cancel();
    ++taken;
  }
  EXPECT_FALSE(begun.ok());
  EXPECT_LE(taken, control::ControlServer::kMaxClients + 1);
  go.count_down();
}

TEST(ControlWork, IsRefusedWhereTooMuchIsPromised) {
  Server server;
  server.refuses = true;
  ControlWork work(named);
  const Status begun = work.start(rate(1), server.promise());
  ASSERT_FALSE(begun.ok());
  EXPECT_EQ(begun.error().kind, ErrorKind::kExhausted);
}

TEST(ControlWork, ReloadsBesideItsAskerAndOnceForThoseThatWait) {
  Server server;
  std::latch begun(1), go(1);
  std::vector<std::string> done;
  ControlWork work([&](const v1::ControlRequest& request) {
    if (request.rate().frequency() == 0) begun.count_down();
    go.wait();
    done.push_back(std::to_string(request.rate().frequency()));
    return named(request);
  });
  ASSERT_TRUE(work.start(rate(0), server.promise()).ok());
  begun.wait();
  // Twin: were it done here, this would wait for ever.
  for (const char* which : {"first", "second"})
    work.start_reload([&done, which] { done.emplace_back(which); });
  ASSERT_TRUE(work.start(rate(1), server.promise()).ok());
  go.count_down();
  EXPECT_EQ(server.wait_for(1), "1");
  EXPECT_EQ(done, (std::vector<std::string>{"0", "second", "1"}));
}

TEST(ControlWork, EndsWithWhatRuns) {
  Server server;
  std::latch begun(1), go(1);
  std::optional<ControlWork> work(std::in_place, [&](const v1::ControlRequest& request) {
    begun.count_down();
    go.wait();
    return named(request);
  });
  ASSERT_TRUE(work->start(rate(0), server.promise()).ok());
  begun.wait();
  std::jthread other([&] { go.count_down(); });
  work.reset();
  EXPECT_EQ(server.wait_for(0), "0");
}

}  // namespace
}  // namespace tailor::tailord
