#include "daemon/os/launched_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace tailor::os {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return Error{fmt::format("pipe2: {}", std::strerror(errno)), errno};
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void wait_and_execute(int go, int failure, char* const* argv, char* const* envp) {
  char byte;
  ssize_t got;
  do got = ::read(go, &byte, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);
  ::execvpe(argv[0], argv, envp);
  int code = errno;
  [[maybe_unused]] ssize_t written = ::write(failure, &code, sizeof code);
  ::_exit(127);
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> out;
  for (const std::string& s : strings) out.push_back(const_cast<char*>(s.c_str()));
  return out;
}

}  // namespace

Result<LaunchedCommand> LaunchedCommand::launch(const std::vector<std::string>& argv,
                                                const std::vector<std::string>& environment) {
  if (argv.empty()) return Error{"no command was given"};
  auto go = make_pipe();
  if (!go) return go.error();
  auto failure = make_pipe();
  if (!failure) return failure.error();
  std::vector<char*> args = pointers(argv);
  args.push_back(nullptr);
  // The first of two equal names counts, so ours come first.
  std::vector<char*> env = pointers(environment);
  for (char** entry = environ; *entry != nullptr; ++entry) env.push_back(*entry);
  env.push_back(nullptr);

  pid_t pid = ::fork();
  if (pid < 0) return Error{fmt::format("fork: {}", std::strerror(errno)), errno};
  if (pid == 0) {
    // Else it would keep the pipe open that tells it of our death.
    ::close(go->write.get());
    wait_and_execute(go->read.get(), failure->write.get(), args.data(), env.data());
  }
  return LaunchedCommand(pid, std::move(go->write), std::move(failure->read));
}

LaunchedCommand::LaunchedCommand(LaunchedCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)), go_(std::move(other.go_)), failure_(std::move(other.failure_)) {}

LaunchedCommand::~LaunchedCommand() {
  if (pid_ <= 0 || !go_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Status LaunchedCommand::start() {
  char byte = 1;
  if (::write(go_.get(), &byte, 1) != 1) return Error{"the command ended before it was started", ESRCH};
  go_.reset();
  int code = 0;
  ssize_t got;
  do got = ::read(failure_.get(), &code, sizeof code);
  while (got < 0 && errno == EINTR);
  if (got == 0) return Ok{};
  ::waitpid(pid_, nullptr, 0);
  return Error{fmt::format("the command cannot be executed: {}", std::strerror(code)), code};
}

}  // namespace tailor::os
