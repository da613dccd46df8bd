#include "viewer/cli/pager.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "proto/base/unique_fd.h"

namespace tailor::cli {
namespace {

// "": none.
std::string pager_command() {
  for (const char* name : {"TAILOR_PAGER", "PAGER"}) {
    if (const char* value = std::getenv(name); value != nullptr)
      return std::string(value) == "cat" ? "" : value;
  }
  return "less";
}

[[noreturn]] void become_pager(const std::string& command, int in) {
  ::dup2(in, STDIN_FILENO);
  // As git has it: leave at once what fits on the screen, keep colours, and leave the text there.
  ::setenv("LESS", "FRX", 0);
  ::setenv("LV", "-c", 0);
  ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
  ::_exit(127);
}

bool is_less(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  return program.substr(program.rfind('/') + 1) == "less";
}

bool is_there(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  const std::string look = "command -v '" + program + "' >/dev/null 2>&1";
  return program.find('\'') == std::string::npos && std::system(look.c_str()) == 0;
}

}  // namespace

void Pager::start(std::size_t line) {
  if (std::exchange(started_, true) || ::isatty(STDOUT_FILENO) == 0) return;
  std::string command = pager_command();
  if (command.empty() || !is_there(command)) return;
  if (line > 1 && is_less(command)) command += fmt::format(" +{}g", line);
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  const UniqueFd in(ends[0]), out(ends[1]);
  std::fflush(stdout);
  const pid_t pid = ::fork();
  if (pid < 0) return;
  if (pid == 0) become_pager(command, in.get());
  ::dup2(out.get(), STDOUT_FILENO);
  pid_ = pid;
}

Pager::~Pager() {
  if (pid_ < 0) return;
  std::fclose(stdout);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
}

}  // namespace tailor::cli
