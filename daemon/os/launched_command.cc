#include "daemon/os/launched_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <utility>

#include "proto/base/errors.h"

namespace tailor::os {
namespace {

struct Pipe {
  UniqueFd read, write;
};

Result<Pipe> make_pipe() {
  int fds[2];
  if (::pipe2(fds, O_CLOEXEC) != 0) return os_error(fmt::format("pipe2: {}", std::strerror(errno)), errno);
  return Pipe{UniqueFd(fds[0]), UniqueFd(fds[1])};
}

// In the child, between fork and exec: only calls that are safe there.
[[noreturn]] void wait_and_execute(int go, int failure, char* const* argv, char* const* envp,
                                   LaunchedCommand::Prints prints) {
  char byte;
  ssize_t got;
  do got = ::read(go, &byte, 1);
  while (got < 0 && errno == EINTR);
  if (got != 1) ::_exit(127);
  if (prints == LaunchedCommand::Prints::kOnStandardError) ::dup2(STDERR_FILENO, STDOUT_FILENO);
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

// Adds our own environment to `env`, but for the names that it has. Of two entries of one name the C library
// takes the first one, and a shell hands on the last one.
void add_others(std::vector<char*>& env) {
  const std::size_t given = env.size();
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view own = *entry;
    const std::string_view name = own.substr(0, own.find('=') + 1);
    const bool replaced =
        std::any_of(env.begin(), env.begin() + static_cast<std::ptrdiff_t>(given),
                    [&](const char* each) { return std::string_view(each).starts_with(name); });
    if (!replaced || name.empty()) env.push_back(*entry);
  }
}

}  // namespace

Result<LaunchedCommand> LaunchedCommand::launch(const std::vector<std::string>& argv,
                                                const std::vector<std::string>& environment, Prints prints) {
  if (argv.empty()) return invalid("no command was given");
  auto go = make_pipe();
  if (!go) return go.error();
  auto failure = make_pipe();
  if (!failure) return failure.error();
  std::vector<char*> args = pointers(argv);
  args.push_back(nullptr);
  std::vector<char*> env = pointers(environment);
  add_others(env);
  env.push_back(nullptr);

  pid_t pid = ::fork();
  if (pid < 0) return os_error(fmt::format("fork: {}", std::strerror(errno)), errno);
  if (pid == 0) {
    // Else it would keep the pipe open that tells it of our death.
    ::close(go->write.get());
    wait_and_execute(go->read.get(), failure->write.get(), args.data(), env.data(), prints);
  }
  return LaunchedCommand(pid, argv.front(), std::move(go->write), std::move(failure->read));
}

LaunchedCommand::LaunchedCommand(LaunchedCommand&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      name_(std::move(other.name_)),
      go_(std::move(other.go_)),
      failure_(std::move(other.failure_)) {}

LaunchedCommand::~LaunchedCommand() {
  if (pid_ <= 0 || !go_) return;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

Status LaunchedCommand::start() {
  char byte = 1;
  if (::write(go_.get(), &byte, 1) != 1) return os_error("the command ended before it was started", ESRCH);
  go_.reset();
  int code = 0;
  ssize_t got;
  do got = ::read(failure_.get(), &code, sizeof code);
  while (got < 0 && errno == EINTR);
  if (got == 0) return Ok{};
  ::waitpid(pid_, nullptr, 0);
  return os_error(fmt::format("the command {} cannot be executed: {}", name_, std::strerror(code)), code);
}

}  // namespace tailor::os
