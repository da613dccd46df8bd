#include "viewer/cli/daemon.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <vector>

#include "proto/control/paths.h"

namespace tailor::cli {

namespace {

// A directory that may not be looked at is there: who reads it gets the reason.
bool is_there_or_closed(const std::string& path) {
  struct stat info{};
  return ::stat(path.c_str(), &info) == 0 || errno == EACCES;
}

}  // namespace

std::string store_directory(const std::string& given) {
  if (!given.empty()) return given;
  if (const char* named = std::getenv("TAILOR_STORE"); named != nullptr && *named != '\0') return named;
  if (const auto status = ask_status(); status.ok() && !status->store().empty()) return status->store();
  const std::vector<std::string> places = control::store_places();
  const auto found = std::ranges::find_if(places, is_there_or_closed);
  return found == places.end() ? places.front() : *found;
}

Result<control::ControlClient> connect_daemon() {
  return control::ControlClient::connect_first(control::control_socket_places());
}

Result<v1::ControlReply> ask_daemon(const v1::ControlRequest& request) {
  auto client = connect_daemon();
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
  auto client = connect_daemon();
  if (!client) return;
  v1::ControlRequest request;
  request.mutable_flush();
  // A daemon that does not answer in time leaves the store as of a second ago.
  if (!client->ask(request, 5000)) return;
}

}  // namespace tailor::cli
