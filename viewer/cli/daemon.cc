#include "viewer/cli/daemon.h"

#include "proto/control/control_client.h"
#include "proto/control/paths.h"

namespace tailor::cli {

std::string store_directory(const std::string& given) {
  return given.empty() ? control::store_path() : given;
}

Result<v1::ControlReply> ask_daemon(const v1::ControlRequest& request) {
  auto client = control::ControlClient::connect(control::control_socket_path());
  if (!client) return client.error();
  return client->ask(request);
}

Result<v1::DaemonStatus> ask_status() {
  v1::ControlRequest request;
  request.mutable_status();
  auto reply = ask_daemon(request);
  if (!reply) return reply.error();
  return reply->status();
}

void flush_daemon() {
  auto client = control::ControlClient::connect(control::control_socket_path());
  if (!client) return;
  v1::ControlRequest request;
  request.mutable_flush();
  // A daemon that does not answer in time leaves the store as of a second ago.
  if (!client->ask(request, 5000)) return;
}

}  // namespace tailor::cli
