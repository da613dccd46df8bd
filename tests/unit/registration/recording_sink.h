// Keeps what the server hands out, and answers as a daemon that samples everybody would.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/registration/arena_view.h"
#include "daemon/registration/events.h"
#include "daemon/registration/limits.h"
#include "daemon/registration/server.h"

namespace tailor::registration::testing {

class RecordingSink : public Sink {
 public:
  void on_connected(const PeerConnected& event) override {
    order += 'C';
    connected.push_back(event);
    if (!server || !answers) return;
    v1::DaemonMessage ack;
    ack.mutable_hello_ack()->set_sampling(true);
    ack.mutable_hello_ack()->set_label_sets(kMaxLabelSets);
    server->reply(event.connection, ack);
  }
  void on_message(PeerMessage event) override {
    order += 'm';
    if (event.message.has_barrier() && server) {
      v1::DaemonMessage ack;
      ack.mutable_barrier_ack()->set_sequence(event.message.barrier().sequence());
      server->reply(event.connection, ack);
    }
    // A sink that keeps a large one holds its connection up.
    if (event.large && !keeps_large) event.message = std::exchange(event.large, nullptr)->message();
    messages.push_back(std::move(event));
  }
  Prepare preparation(ProcessId) override { return prepare; }
  void on_arena(const ArenaMapped& event) override {
    order += 'a';
    arenas.push_back(event);
  }
  void on_activity(ActivityRecords event) override {
    order += 'r';
    activity.push_back(std::move(event));
  }
  void on_awake() override {
    ++awake;
    before_awake = order;
  }
  void on_settled(const Settled& event) override { settled.push_back(event); }
  void on_rejected(const PeerRejected& event) override { rejected.push_back(event); }
  void on_refused(const PeerRefused& event) override { refused.push_back(event); }
  void on_gone(const PeerGone& event) override {
    order += 'G';
    gone.push_back(event);
  }

  std::size_t count(v1::AgentMessage::BodyCase body) const {
    std::size_t count = 0;
    for (const PeerMessage& m : messages) count += m.message.body_case() == body;
    return count;
  }
  std::size_t records(std::uint16_t kind) const {
    std::size_t count = 0;
    for (const ActivityRecords& run : activity) {
      for (const tailor_log_record& record : run.records) count += record.kind == kind;
    }
    return count;
  }
  std::uint64_t lost() const {
    std::uint64_t lost = 0;
    for (const ActivityRecords& run : activity) lost += run.lost;
    return lost;
  }

  Server* server = nullptr;
  bool answers = true;
  bool keeps_large = false;
  Prepare prepare;           // large messages
  int awake = 0;             // how often a wait was over
  std::string before_awake;  // `order`, when the last one was
  std::string order;         // C connected, m message, a arena, r records, G gone
  std::vector<PeerConnected> connected;
  std::vector<PeerMessage> messages;
  std::vector<ArenaMapped> arenas;
  std::vector<ActivityRecords> activity;
  std::vector<Settled> settled;
  std::vector<PeerRejected> rejected;
  std::vector<PeerGone> gone;
  std::vector<PeerRefused> refused;
};

// A server on a socket in a new directory.
class TestServer {
 public:
  TestServer() {
    char name[] = "/tmp/tailor-server-XXXXXX";
    directory_ = ::mkdtemp(name);
    path_ = directory_ + "/agent.sock";
    start();
  }
  ~TestServer() {
    server_.reset();
    ::unlink(path_.c_str());
    ::rmdir(directory_.c_str());
  }
  void start() {
    options.socket_path = path_;
    auto server = Server::listen(options, sink);
    if (!server) throw std::runtime_error(server.error().message);
    server_ = std::move(*server);
    sink.server = server_.get();
  }
  void stop() {
    sink.server = nullptr;
    server_.reset();
  }
  // Polls until `done` or some seconds have passed.
  bool until(const std::function<bool()>& done, int seconds = 100) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (!done()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      server_->poll(5);
    }
    return true;
  }
  void poll_for(std::chrono::milliseconds duration) {
    auto deadline = std::chrono::steady_clock::now() + duration;
    while (std::chrono::steady_clock::now() < deadline) server_->poll(1);
  }
  void poll(int times = 3) {
    for (int i = 0; i < times; ++i) server_->poll(0);
  }
  const std::string& path() const { return path_; }
  Server& operator*() { return *server_; }
  Server* operator->() { return server_.get(); }

  RecordingSink sink;
  ServerOptions options;

 private:
  std::string directory_;
  std::string path_;
  std::unique_ptr<Server> server_;
};

}  // namespace tailor::registration::testing
