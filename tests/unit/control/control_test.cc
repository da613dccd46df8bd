#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/control/control_server.h"
#include "proto/control/control_client.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"

namespace tailor::control {
namespace {

v1::ControlReply answer(const v1::ControlRequest& request, const Peer& peer,
                        const ControlServer::Promise& /*promise*/) {
  EXPECT_EQ(peer.uid, ::geteuid());
  v1::ControlReply reply;
  if (request.has_status()) {
    reply.mutable_status()->set_pid(42);
  } else if (request.has_report()) {
    reply.mutable_report()->set_json(
        std::string(request.report().executions_size() * std::size_t{1000}, 'x'));
  } else {
    set_error(reply, unavailable("not now"));
  }
  return reply;
}

class ControlTest : public testing::Test {
 protected:
  ControlTest() {
    std::string name = testing::TempDir() + "tailor-control-XXXXXX";
    directory = ::mkdtemp(name.data());
    path = directory + "/control.sock";
    end.reset(::eventfd(0, EFD_CLOEXEC));
  }
  ~ControlTest() override {
    stop();
    std::filesystem::remove_all(directory);
  }
  void start(std::size_t max_clients = ControlServer::kMaxClients,
             const ControlServer::Handler& handler = answer) {
    auto listening = ControlServer::listen(
        path, handler, [this](const std::string& why) { cut_off.push_back(why); }, max_clients);
    ASSERT_TRUE(listening.ok()) << listening.error().message;
    server = std::move(*listening);
    thread = std::thread([this] {
      while (!server->poll(end.get(), -1)) {
      }
    });
  }
  void stop() {
    if (!thread.joinable()) return;
    std::uint64_t one = 1;
    ASSERT_EQ(::write(end.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    thread.join();
    ASSERT_EQ(::read(end.get(), &one, sizeof one), static_cast<ssize_t>(sizeof one));
    server.reset();
  }

  std::string directory, path;
  UniqueFd end;
  std::unique_ptr<ControlServer> server;
  std::vector<std::string> cut_off;
  std::thread thread;
};

TEST_F(ControlTest, AnswersManyRequestsOfManyClients) {
  start();
  auto one = ControlClient::connect(path), two = ControlClient::connect(path);
  ASSERT_TRUE(one.ok() && two.ok());
  v1::ControlRequest request;
  request.mutable_status();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(one->ask(request)->status().pid(), 42);
    EXPECT_EQ(two->ask(request)->status().pid(), 42);
  }
  request.mutable_flush();
  auto refused = one->ask(request);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().message, "not now");
  EXPECT_EQ(refused.error().kind, ErrorKind::kUnavailable);
}

TEST_F(ControlTest, AnswersOfAnySizeArrive) {
  start();
  auto client = ControlClient::connect(path);
  v1::ControlRequest request;
  for (const std::size_t kilobytes : {1, 63, 66, 207, 300, 5000, 60000}) {
    request.mutable_report()->clear_executions();
    for (std::size_t i = 0; i < kilobytes; ++i) request.mutable_report()->add_executions();
    auto reply = client->ask(request);
    ASSERT_TRUE(reply.ok()) << kilobytes << " kB: " << reply.error().message;
    EXPECT_EQ(reply->report().json().size(), kilobytes * 1000);
  }
  for (int i = 0; i < 10'000; ++i) request.mutable_report()->add_executions();
  auto reply = client->ask(request);
  ASSERT_FALSE(reply.ok());
  EXPECT_NE(reply.error().message.find("more than"), std::string::npos) << reply.error().message;
}

TEST_F(ControlTest, NonsenseIsCutOffWithItsReason) {
  start();
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  auto address = socket_address(path);
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  ASSERT_GT(::send(socket.get(), "\xff\xff\xff", 3, 0), 0);
  v1::ControlReply reply;
  ASSERT_TRUE(receive_reply(socket.get(), reply, 5000).ok());
  EXPECT_NE(reply.error(), "");
  auto over = receive_reply(socket.get(), reply, 5000);
  ASSERT_TRUE(over.ok());
  EXPECT_FALSE(*over);
  stop();
  EXPECT_EQ(cut_off.size(), 1u);
}

TEST_F(ControlTest, GarbageGetsAnErrorAndTheServerGoesOn) {
  start();
  auto address = socket_address(path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  ASSERT_GT(::send(socket.get(), "\xff\xff\xff", 3, 0), 0);
  v1::ControlReply reply;
  ASSERT_TRUE(receive_message(socket.get(), reply, 5000).ok());
  EXPECT_NE(reply.error(), "");
  socket.reset();
  v1::ControlRequest request;
  request.mutable_status();
  EXPECT_TRUE(ControlClient::connect(path)->ask(request).ok());
}

TEST_F(ControlTest, ManyClientsThatSayNothingDoNotLockOthersOut) {
  start();
  std::vector<ControlClient> idle;
  for (int i = 0; i < 100; ++i) {
    auto client = ControlClient::connect(path);
    if (client.ok()) idle.push_back(std::move(*client));
  }
  v1::ControlRequest request;
  request.mutable_status();
  EXPECT_TRUE(ControlClient::connect(path)->ask(request).ok());
}

TEST_F(ControlTest, AsManyClientsAreConnectedAsItIsTold) {
  v1::ControlRequest request;
  request.mutable_status();
  for (const std::size_t most : {2, 3}) {
    cut_off.clear();
    start(most);
    auto first = ControlClient::connect(path), second = ControlClient::connect(path);
    ASSERT_TRUE(first.ok() && second.ok() && first->ask(request).ok() && second->ask(request).ok());
    auto third = ControlClient::connect(path);
    ASSERT_TRUE(third.ok() && third->ask(request).ok());
    EXPECT_EQ(first->ask(request).ok(), most == 3);
    EXPECT_TRUE(second->ask(request).ok());
    stop();
    EXPECT_EQ(cut_off.size(), 3 - most);
  }
}

constexpr uid_t kStranger = 65534;

// Of this thread alone: the one of the C library is of all threads.
bool become(uid_t user) {
  return ::syscall(SYS_setresuid, -1, user, -1) == 0;
}

TEST_F(ControlTest, AUserWhoTakesAllPlacesPushesOutItsOwnConnectionsOnly) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  start(4, [](const v1::ControlRequest&, const Peer&, const ControlServer::Promise&) {
    v1::ControlReply reply;
    reply.mutable_status()->set_pid(42);
    return reply;
  });
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  v1::ControlRequest request;
  request.mutable_status();
  auto ours = ControlClient::connect(path);
  ASSERT_TRUE(ours.ok() && ours->ask(request).ok());
  std::vector<ControlClient> theirs;
  std::thread([&] {
    ASSERT_TRUE(become(kStranger));
    for (int i = 0; i < 20; ++i) {
      auto client = ControlClient::connect(path);
      ASSERT_TRUE(client.ok()) << client.error().message;
      ASSERT_TRUE(client->ask(request).ok()) << i;
      theirs.push_back(std::move(*client));
    }
  }).join();
  EXPECT_TRUE(ours->ask(request).ok()) << "it was silent longest, and is another user's";
  std::size_t alive = 0;
  for (ControlClient& client : theirs) alive += client.ask(request).ok() ? 1 : 0;
  EXPECT_EQ(alive, 3u);
}

// A report is promised, and everything else is answered at once.
class LateTest : public ControlTest {
 protected:
  ~LateTest() override { stop(); }
  void start_with(std::chrono::milliseconds patience, std::size_t max_clients = ControlServer::kMaxClients) {
    start(max_clients,
          [this, patience](const v1::ControlRequest& request, const Peer& peer,
                           const ControlServer::Promise& promise) -> std::optional<v1::ControlReply> {
            if (!request.has_report()) return answer(request, peer, promise);
            auto late = promise(patience);
            if (late.ok()) {
              std::lock_guard lock(mutex);
              promised.push_back(*late);
              return std::nullopt;
            }
            v1::ControlReply refusal;
            set_error(refusal, late.error());
            return refusal;
          });
    report.mutable_report();
    status.mutable_status();
  }
  // Asks for a report, and waits until the server has promised it.
  UniqueFd ask_for_report() {
    UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    auto address = socket_address(path);
    EXPECT_EQ(::connect(socket.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
    const std::size_t before = count();
    EXPECT_TRUE(send_message(socket.get(), report).ok());
    while (count() == before) std::this_thread::yield();
    return socket;
  }
  std::size_t count() {
    std::lock_guard lock(mutex);
    return promised.size();
  }
  std::shared_ptr<LateReply> late(std::size_t i) {
    std::lock_guard lock(mutex);
    return promised[i];
  }
  static v1::ControlReply report_of(const char* json) {
    v1::ControlReply reply;
    reply.mutable_report()->set_json(json);
    return reply;
  }
  static std::string json_at(const UniqueFd& socket) {
    v1::ControlReply reply;
    auto got = receive_reply(socket.get(), reply, 60'000);
    EXPECT_TRUE(got.ok() && *got);
    return reply.error().empty() ? reply.report().json() : "error: " + reply.error();
  }

  static constexpr std::chrono::hours kForEver{1};
  v1::ControlRequest report, status;
  std::mutex mutex;
  std::vector<std::shared_ptr<LateReply>> promised;
};

TEST_F(LateTest, OthersAreAnsweredWhileAReplyIsMade) {
  start_with(kForEver);
  const UniqueFd one = ask_for_report(), two = ask_for_report();
  EXPECT_EQ(ControlClient::connect(path)->ask(status)->status().pid(), 42);
  late(1)->give(report_of("second"));
  EXPECT_EQ(json_at(two), "second");
  EXPECT_EQ(ControlClient::connect(path)->ask(status)->status().pid(), 42);
  late(0)->give(report_of("first"));
  EXPECT_EQ(json_at(one), "first");
}

TEST_F(LateTest, RepliesComeInTheOrderOfTheRequests) {
  start_with(kForEver);
  const UniqueFd socket = ask_for_report();
  ASSERT_TRUE(send_message(socket.get(), status).ok());
  // Others are answered, and this one waits.
  EXPECT_TRUE(ControlClient::connect(path)->ask(status).ok());
  late(0)->give(report_of("first"));
  EXPECT_EQ(json_at(socket), "first");
  v1::ControlReply reply;
  ASSERT_TRUE(receive_reply(socket.get(), reply, 60'000).ok());
  EXPECT_EQ(reply.status().pid(), 42);
}

TEST_F(LateTest, WhoGoesAwayCancels) {
  start_with(kForEver);
  UniqueFd gone = ask_for_report();
  const UniqueFd stays = ask_for_report();
  gone.reset();
  while (!late(0)->stop()->stopped()) std::this_thread::yield();
  EXPECT_FALSE(late(1)->stop()->stopped());
  // Nobody waits for it, and nobody minds.
  late(0)->give(report_of("unwanted"));
  late(1)->give(report_of("wanted"));
  EXPECT_EQ(json_at(stays), "wanted");
}

TEST_F(LateTest, TheDeadlineIsAnAnswer) {
  start_with(std::chrono::milliseconds(1));
  const UniqueFd socket = ask_for_report();
  EXPECT_NE(json_at(socket).find("deadline"), std::string::npos);
  late(0)->give(report_of("too late"));
  EXPECT_TRUE(ControlClient::connect(path)->ask(status).ok());
}

TEST_F(LateTest, TooManyPromisesAreARefusalAndTheNextIsTaken) {
  start_with(kForEver);
  std::vector<UniqueFd> waiting;
  for (std::size_t i = 0; i < ControlServer::kMaxLate; ++i) waiting.push_back(ask_for_report());
  auto client = ControlClient::connect(path);
  auto refused = client->ask(report);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(client->ask(status).ok());
  late(3)->give(report_of("done"));
  EXPECT_EQ(json_at(waiting[3]), "done");
  const UniqueFd next = ask_for_report();
  EXPECT_EQ(count(), ControlServer::kMaxLate + 1);
}

TEST_F(LateTest, AUserIsPromisedItsShareAndTheOwnerGetsMore) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can play another user";
  start_with(kForEver);
  ASSERT_EQ(::chmod(directory.c_str(), 0755), 0);
  ASSERT_EQ(::chmod(path.c_str(), 0666), 0);
  std::vector<UniqueFd> waiting;
  std::thread([&] {
    ASSERT_TRUE(become(kStranger));
    for (std::size_t i = 0; i < ControlServer::kMaxLateOfUser; ++i) waiting.push_back(ask_for_report());
    auto refused = ControlClient::connect(path)->ask(report);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
    EXPECT_NE(refused.error().message.find("of your user"), std::string::npos) << refused.error().message;
  }).join();
  waiting.push_back(ask_for_report());
  EXPECT_EQ(count(), ControlServer::kMaxLateOfUser + 1);
}

TEST_F(LateTest, WhoWaitsForAReplyIsNotTheSilentOne) {
  start_with(kForEver, 2);
  const UniqueFd waits = ask_for_report();
  auto silent = ControlClient::connect(path);
  ASSERT_TRUE(silent.ok() && silent->ask(status).ok());
  auto third = ControlClient::connect(path);
  ASSERT_TRUE(third.ok() && third->ask(status).ok());
  EXPECT_FALSE(silent->ask(status).ok());
  late(0)->give(report_of("served"));
  EXPECT_EQ(json_at(waits), "served");
}

TEST_F(LateTest, TheEndOfTheServerCancels) {
  start_with(kForEver);
  const UniqueFd socket = ask_for_report();
  stop();
  EXPECT_TRUE(late(0)->stop()->stopped());
  late(0)->give(report_of("nobody is there"));
}

TEST_F(ControlTest, WithoutADaemonTheErrorSaysWhatToDo) {
  auto client = ControlClient::connect(path);
  ASSERT_FALSE(client.ok());
  EXPECT_NE(client.error().message.find("tailord"), std::string::npos);
}

TEST_F(ControlTest, ASecondDaemonIsRefusedAndADeadOneReplaced) {
  start();
  EXPECT_FALSE(ControlServer::listen(path, answer).ok());
  stop();
  UniqueFd dead(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  auto address = socket_address(path);
  ASSERT_EQ(::bind(dead.get(), reinterpret_cast<const sockaddr*>(&*address), sizeof *address), 0);
  dead.reset();
  start();
  struct stat info{};
  ASSERT_EQ(::stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST_F(ControlTest, AFileIsNotReplaced) {
  std::ofstream(path) << "precious";
  EXPECT_FALSE(ControlServer::listen(path, answer).ok());
  EXPECT_TRUE(std::filesystem::exists(path));
}

TEST_F(ControlTest, APathThatDoesNotFitIsAnError) {
  EXPECT_FALSE(ControlServer::listen(std::string(200, 'x'), answer).ok());
  EXPECT_FALSE(ControlClient::connect("").ok());
}

TEST_F(ControlTest, TheFirstPlaceWhereADaemonAnswersIsTaken) {
  start();
  const std::string nowhere = directory + "/none.sock";
  auto client = ControlClient::connect_first({nowhere, path});
  ASSERT_TRUE(client.ok()) << client.error().message;
  v1::ControlRequest request;
  request.mutable_status();
  EXPECT_EQ(client->ask(request)->status().pid(), 42);
}

TEST_F(ControlTest, TheErrorNamesEveryPlaceThatWasTriedAndWhy) {
  const std::string one = directory + "/one.sock", two = directory + "/two.sock";
  std::ofstream(two) << "no socket";
  const auto client = ControlClient::connect_first({one, two});
  ASSERT_FALSE(client.ok());
  const std::string& said = client.error().message;
  EXPECT_NE(said.find("no daemon at " + one + ": No such file"), std::string::npos) << said;
  EXPECT_NE(said.find("nor at " + two + ": Connection refused"), std::string::npos) << said;
  EXPECT_NE(said.find("TAILOR_CONTROL"), std::string::npos) << said;
  EXPECT_EQ(client.error().kind, ErrorKind::kUnavailable);
}

TEST_F(ControlTest, ASocketThatMayNotBeUsedIsNoMissingDaemon) {
  if (::geteuid() == 0 && ::seteuid(65534) != 0) GTEST_SKIP() << "no other user can be played";
  const std::string theirs = "/proc/1/root/no.sock";  // nobody but root may look there
  const auto client = ControlClient::connect_first({theirs, directory + "/none.sock"});
  ASSERT_EQ(::seteuid(::getuid()), 0);
  ASSERT_FALSE(client.ok());
  EXPECT_EQ(client.error().kind, ErrorKind::kDenied) << client.error().message;
  EXPECT_NE(client.error().message.find("you may not use it"), std::string::npos) << client.error().message;
  EXPECT_EQ(client.error().message.find("is tailord running"), std::string::npos) << client.error().message;
}

// A daemon that changes what it records has that long: a client that leaves before is told nothing of it.
TEST(Patience, IsLongerThanTheDaemonLetsRequestsWait) {
  v1::ControlRequest status, resume, flush;
  status.mutable_status();
  resume.mutable_resume()->set_all(true);
  flush.mutable_flush();
  EXPECT_GT(patience_for(resume), kLongestChange);
  EXPECT_GT(patience_for(flush), kLongestChange);
  EXPECT_EQ(patience_for(status), std::chrono::seconds(10));
}

}  // namespace
}  // namespace tailor::control
