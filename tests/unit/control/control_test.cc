#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "daemon/control/control_server.h"
#include "proto/control/control_client.h"
#include "proto/control/control_socket.h"
#include "proto/control/reply_error.h"

namespace tailor::control {
namespace {

v1::ControlReply answer(const v1::ControlRequest& request, const Peer& peer) {
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
  void start(std::size_t max_clients = ControlServer::kMaxClients) {
    auto listening = ControlServer::listen(
        path, answer, [this](const std::string& why) { cut_off.push_back(why); }, max_clients);
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

}  // namespace
}  // namespace tailor::control
