// A client of the agent socket that may do what no agent does.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <string>
#include <vector>

#include "proto/base/unique_fd.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::registration::testing {

// A memfd with these bytes and seals.
inline UniqueFd memfd(const std::string& bytes, int seals) {
  UniqueFd fd(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  [[maybe_unused]] auto written = ::write(fd.get(), bytes.data(), bytes.size());
  ::fcntl(fd.get(), F_ADD_SEALS, seals);
  return fd;
}

class RawAgent {
 public:
  explicit RawAgent(const std::string& path) : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.data(), path.size());
    connected_ = ::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  bool connected() const { return connected_; }
  int fd() const { return socket_.get(); }
  void close() { socket_.reset(); }

  bool send_bytes(const std::string& bytes, const std::vector<int>& fds = {}) {
    iovec data{const_cast<char*>(bytes.data()), bytes.size()};
    alignas(cmsghdr) char control[1024] = {};
    msghdr header{};
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (!fds.empty()) {
      header.msg_control = control;
      header.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
      cmsghdr* item = CMSG_FIRSTHDR(&header);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
      std::memcpy(CMSG_DATA(item), fds.data(), fds.size() * sizeof(int));
    }
    return ::sendmsg(socket_.get(), &header, MSG_NOSIGNAL) >= 0;
  }
  bool send(const v1::AgentMessage& message, const std::vector<int>& fds = {}) {
    return send_bytes(message.SerializeAsString(), fds);
  }
  bool hello(const std::string& instance = std::string(16, 's')) {
    v1::AgentMessage message;
    message.mutable_hello()->set_protocol(1);
    message.mutable_hello()->set_engine_name("raw");
    message.mutable_hello()->set_instance(instance);
    return send(message);
  }
  bool arena(const UniqueFd& fd, std::uint64_t bytes, std::uint32_t index = 0) {
    v1::AgentMessage message;
    message.mutable_arena_add()->set_index(index);
    message.mutable_arena_add()->set_bytes(bytes);
    return send(message, fd ? std::vector<int>{fd.get()} : std::vector<int>{});
  }
  // The next answer; an empty message if there is none within a second.
  v1::DaemonMessage receive() {
    timeval patience{1, 0};
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    char bytes[4096];
    ssize_t size = ::recv(socket_.get(), bytes, sizeof(bytes), 0);
    v1::DaemonMessage message;
    if (size > 0) message.ParseFromArray(bytes, static_cast<int>(size));
    return message;
  }

 private:
  UniqueFd socket_;
  bool connected_ = false;
};

}  // namespace tailor::registration::testing
