// A program under test, with its standard input and output in our hands.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "proto/base/unique_fd.h"

namespace tailor::test {

// Killed, if it still runs, and reaped by the destructor.
class ChildProcess {
 public:
  explicit ChildProcess(std::vector<std::string> argv) {
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0) std::abort();
    std::vector<char*> args;
    for (std::string& arg : argv) args.push_back(arg.data());
    args.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(in[0], 0);
      ::dup2(out[1], 1);
      ::execv(args[0], args.data());
      ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    input_.reset(in[1]);
    output_.reset(out[0]);
  }
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;
  ~ChildProcess() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }

  pid_t pid() const { return pid_; }

  void send(const std::string& text) {
    if (::write(input_.get(), text.data(), text.size()) < 0) std::abort();
  }

  // The next line it prints, without its end.
  std::string read_line() {
    std::string line;
    for (char c; ::read(output_.get(), &c, 1) == 1 && c != '\n';) line += c;
    return line;
  }

  // Everything it still prints until it closes its output.
  std::string read_all() {
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = ::read(output_.get(), buffer, sizeof buffer)) > 0;) {
      text.append(buffer, static_cast<std::size_t>(got));
    }
    return text;
  }

  // The exit status as waitpid gives it.
  int wait() {
    int status = 0;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return status;
  }

 private:
  pid_t pid_ = -1;
  UniqueFd input_, output_;
};

}  // namespace tailor::test
