#include "viewer/cli/daemon.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>
#include <vector>

#include "proto/control/paths.h"

namespace tailor::cli {

namespace {

// A daemon that has nothing newer by then is held up, and says so.
constexpr std::chrono::milliseconds kFreshWithin{150}, kBetweenQuestions{5};

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

Result<v1::DaemonStatus> ask_status_of_now() {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  for (;;) {
    const Clock::duration asked = Clock::now() - begun;
    auto status = ask_status();
    if (!status || asked >= kFreshWithin) return status;
    // Whether all of it is of after the first question. An older daemon does not say how old it is: 0.
    const std::uint64_t age = std::max(status->status_age_ns(), status->store_use_age_ns());
    if (age <= static_cast<std::uint64_t>(std::chrono::nanoseconds(asked).count())) return status;
    std::this_thread::sleep_for(kBetweenQuestions);
  }
}

void flush_daemon() {
  auto client = connect_daemon();
  if (!client) return;
  v1::ControlRequest request;
  request.mutable_flush();
  // A daemon that does not answer in time leaves the store as of a second ago.
  if (!client->ask(request, std::chrono::seconds(5))) return;
}

}  // namespace tailor::cli
