#include "viewer/cli/program_output.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "proto/base/errors.h"
#include "proto/base/unique_fd.h"

namespace tailor::cli {
namespace {

// Keeps the end of what can be read.
std::string read_end(int fd, std::size_t max_bytes) {
  std::string text;
  std::array<char, 65536> piece{};
  while (true) {
    const ssize_t n = ::read(fd, piece.data(), piece.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    text.append(piece.data(), static_cast<std::size_t>(n));
    if (text.size() > 2 * max_bytes) text.erase(0, text.size() - max_bytes);
  }
  if (text.size() > max_bytes) text.erase(0, text.size() - max_bytes);
  return text;
}

Error failed(const std::string& program, int code) {
  return {"cannot run " + program + ": " + std::strerror(code), code, kind_of_errno(code)};
}

}  // namespace

Result<std::string> program_output(const std::vector<std::string>& argv, std::size_t max_bytes) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return failed(argv[0], errno);
  UniqueFd in(ends[0]), out(ends[1]);
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& each : argv) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, out.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t pid = -1;
  const int error = ::posix_spawnp(&pid, argv[0].c_str(), &actions, nullptr, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return failed(argv[0], error);
  out.reset();
  std::string text = read_end(in.get(), max_bytes);
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return internal(argv[0] + " failed");
  return text;
}

}  // namespace tailor::cli
