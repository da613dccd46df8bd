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

std::string run_directory() {
  if (::geteuid() == 0) return "/run/tailor";
  const std::string runtime = environment("XDG_RUNTIME_DIR");
  return runtime.empty() ? shared_run_directory() : runtime + "/tailor";
}

std::string state_directory() {
  if (::geteuid() == 0) return "/var/lib/tailor";
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

}  // namespace tailor::control
