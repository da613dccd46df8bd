#include "proto/control/control_socket.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"
#include "proto/control/reply_error.h"

namespace tailor::control {
namespace {

Error failed(const char* what) {
  return os_error(fmt::format("control socket: {}{}", what, std::strerror(errno)), errno);
}

Status send_bytes(int socket, const std::string& bytes, int attached) {
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  if (attached >= 0) {
    header.msg_control = control;
    header.msg_controllen = sizeof control;
    cmsghdr* item = CMSG_FIRSTHDR(&header);
    item->cmsg_level = SOL_SOCKET;
    item->cmsg_type = SCM_RIGHTS;
    item->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(item), &attached, sizeof attached);
  }
  ssize_t sent;
  do sent = ::sendmsg(socket, &header, MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  if (sent < 0) return failed("");
  return Ok{};
}

Result<UniqueFd> memory_file(const std::string& bytes) {
  UniqueFd fd(::memfd_create("tailor-reply", MFD_CLOEXEC));
  if (!fd) return failed("memfd_create: ");
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(fd.get(), bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return failed("cannot write a large reply: ");
    done += static_cast<std::size_t>(n);
  }
  return fd;
}

Result<std::string> read_file(int fd, std::uint64_t size) {
  if (size > kMaxReplyBytes)
    return exhausted(fmt::format("control socket: a reply of {} bytes is too long", size));
  struct stat info{};
  if (fd < 0 || ::fstat(fd, &info) != 0 || static_cast<std::uint64_t>(info.st_size) != size)
    return internal("control socket: a large reply came without its memory file");
  std::string bytes(size, '\0');
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::pread(fd, bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return internal("control socket: a large reply cannot be read");
    done += static_cast<std::size_t>(n);
  }
  return bytes;
}

struct Received {
  std::vector<char> bytes;  // empty: the peer closed the connection
  UniqueFd attached;
};

Result<Received> receive_bytes(int socket, int timeout_ms) {
  pollfd waiting{socket, POLLIN, 0};
  int ready;
  do ready = ::poll(&waiting, 1, timeout_ms);
  while (ready < 0 && errno == EINTR);
  if (ready == 0) return os_error("control socket: no answer in time", ETIMEDOUT);
  Received received;
  received.bytes.resize(kMaxMessageBytes);
  iovec data{received.bytes.data(), received.bytes.size()};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header{};
  header.msg_iov = &data;
  header.msg_iovlen = 1;
  header.msg_control = control;
  header.msg_controllen = sizeof control;
  ssize_t got;
  do got = ::recvmsg(socket, &header, MSG_CMSG_CLOEXEC);
  while (got < 0 && errno == EINTR);
  if (got < 0) return failed("");
  for (cmsghdr* item = CMSG_FIRSTHDR(&header); item != nullptr; item = CMSG_NXTHDR(&header, item)) {
    if (item->cmsg_level != SOL_SOCKET || item->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (item->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(item) + i * sizeof fd, sizeof fd);
      received.attached.reset(fd);
    }
  }
  if ((header.msg_flags & MSG_TRUNC) != 0) return exhausted("control socket: a message is too long");
  received.bytes.resize(static_cast<std::size_t>(got));
  return received;
}

Status decode(const char* bytes, std::size_t size, google::protobuf::MessageLite& message) {
  if (message.ParseFromArray(bytes, static_cast<int>(size))) return Ok{};
  return internal("control socket: a message cannot be decoded");
}

}  // namespace

Result<sockaddr_un> socket_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    return invalid(fmt::format("control socket {}: a path of 1 to {} bytes is needed", path,
                               sizeof address.sun_path - 1));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

Status send_message(int socket, const google::protobuf::MessageLite& message) {
  std::string bytes;
  if (!message.SerializeToString(&bytes) || bytes.size() > kMaxMessageBytes) {
    return exhausted(
        fmt::format("control socket: a message of {} bytes is too long", message.ByteSizeLong()));
  }
  return send_bytes(socket, bytes, -1);
}

Status send_reply(int socket, const v1::ControlReply& reply) {
  std::string bytes;
  if (!reply.SerializeToString(&bytes) || bytes.size() > kMaxReplyBytes) {
    v1::ControlReply instead;
    set_error(instead, exhausted(fmt::format("the answer has {} bytes, more than the {} that can be sent",
                                             reply.ByteSizeLong(), kMaxReplyBytes)));
    return send_message(socket, instead);
  }
  if (bytes.size() <= kMaxInlineBytes) return send_bytes(socket, bytes, -1);
  auto file = memory_file(bytes);
  if (!file.ok()) return file.error();
  v1::ControlReply envelope;
  envelope.set_payload_bytes(bytes.size());
  envelope.set_error("the answer is larger than this client can read: it is older than the daemon");
  envelope.set_error_kind(v1::ERROR_EXHAUSTED);
  return send_bytes(socket, envelope.SerializeAsString(), file->get());
}

Result<bool> receive_message(int socket, google::protobuf::MessageLite& message, int timeout_ms) {
  auto received = receive_bytes(socket, timeout_ms);
  if (!received.ok()) return received.error();
  if (received->bytes.empty()) return false;
  if (Status read = decode(received->bytes.data(), received->bytes.size(), message); !read.ok())
    return read.error();
  return true;
}

Result<bool> receive_reply(int socket, v1::ControlReply& reply, int timeout_ms) {
  auto received = receive_bytes(socket, timeout_ms);
  if (!received.ok()) return received.error();
  if (received->bytes.empty()) return false;
  if (Status read = decode(received->bytes.data(), received->bytes.size(), reply); !read.ok())
    return read.error();
  if (reply.payload_bytes() == 0) return true;
  auto bytes = read_file(received->attached.get(), reply.payload_bytes());
  if (!bytes.ok()) return bytes.error();
  reply.Clear();
  if (Status read = decode(bytes->data(), bytes->size(), reply); !read.ok()) return read.error();
  return true;
}

}  // namespace tailor::control
