// The daemon's end of the socket, as little of it as tests of the agent need: it receives and answers.
#pragma once

#include <string>

#include "proto/base/unique_fd.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::agent::testing {

struct Received {
  v1::AgentMessage message;  // unpacked if it came in a memfd
  UniqueFd attached;
  bool in_memfd = false;
  int credentials_pid = 0;
};

class FakeDaemon {
 public:
  // Listens on a socket in a new temporary directory.
  FakeDaemon();
  ~FakeDaemon();

  const std::string& path() const { return path_; }

  // Waits for a connection and its Hello, which it answers unless told not to.
  v1::Hello accept(bool answer = true);
  // The next message; nothing (body_case 0) after `timeout_ms` or at the end of the connection.
  Received next(int timeout_ms = 60'000);
  // Receives until a message of this kind has come.
  Received until(v1::AgentMessage::BodyCase body);
  void send(const v1::DaemonMessage& message);
  void acknowledge_barrier(std::uint64_t sequence);
  void close_connection() { connection_.reset(); }
  // Ends and starts to listen: what a restart of the daemon looks like.
  void stop_listening();
  void listen();

 private:
  std::string directory_;
  std::string path_;
  UniqueFd listener_;
  UniqueFd connection_;
};

}  // namespace tailor::agent::testing
