#include "proto/control/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace tailor::control {
namespace {

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Where a service manager runs the daemon of the whole host.
constexpr const char* kSystemRun = "/run/tailor";
constexpr const char* kSystemState = "/var/lib/tailor";

std::string run_directory() {
  if (::geteuid() == 0) return kSystemRun;
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? shared_run_directory() : runtime + "/tailor";
}

std::string state_directory() {
  if (::geteuid() == 0) return kSystemState;
  const std::string state = environment("XDG_STATE_HOME");
  return state.empty() ? environment("HOME") + "/.local/state/tailor" : state + "/tailor";
}

std::string either(const char* variable, const std::string& otherwise) {
  const std::string value = environment(variable);
  return value.empty() ? otherwise : value;
}

}  // namespace

std::string shared_run_directory() {
  return fmt::format("/tmp/tailor-{}", ::geteuid());
}

std::string agent_socket_path() {
  return either("TAILOR_SOCKET", run_directory() + "/agent.sock");
}

std::string control_socket_path() {
  return either("TAILOR_CONTROL", run_directory() + "/control.sock");
}

std::string store_path() {
  return either("TAILOR_STORE", state_directory() + "/store");
}

namespace {

// What `variable` names alone; else the user's own, then the system's.
std::vector<std::string> places(const char* variable, const std::string& own, const std::string& system) {
  const std::string named = environment(variable);
  if (!named.empty()) return {named};
  if (own == system) return {own};
  return {own, system};
}

}  // namespace

std::vector<std::string> control_socket_places() {
  return places("TAILOR_CONTROL", run_directory() + "/control.sock",
                fmt::format("{}/control.sock", kSystemRun));
}

std::vector<std::string> store_places() {
  return places("TAILOR_STORE", state_directory() + "/store", fmt::format("{}/store", kSystemState));
}

}  // namespace tailor::control
