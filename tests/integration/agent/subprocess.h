// A child process that a test owns: killed at the end if it still runs.
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>
#include <vector>

namespace tailor::registration::testing {

class Subprocess {
 public:
  explicit Subprocess(std::vector<std::string> command) {
    int output[2];
    if (::pipe2(output, O_CLOEXEC) != 0) return;
    output_ = output[0];
    ::fcntl(output_, F_SETFL, O_NONBLOCK);
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(output[1], 1);
      ::execvp(arguments[0], arguments.data());
      ::_exit(127);
    }
    ::close(output[1]);
  }
  ~Subprocess() {
    if (!ended()) kill();
    ::close(output_);
  }
  Subprocess(const Subprocess&) = delete;
  Subprocess& operator=(const Subprocess&) = delete;

  pid_t pid() const { return pid_; }
  bool ended() {
    if (!ended_ && ::waitpid(pid_, &status_, WNOHANG) == pid_) ended_ = true;
    return ended_;
  }
  void kill() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, &status_, 0);
    ended_ = true;
  }
  // Once it has ended: its exit code, or -1 if a signal ended it.
  int exit_code() const { return WIFEXITED(status_) ? WEXITSTATUS(status_) : -1; }
  std::string output() {
    char bytes[4096];
    ssize_t size = ::read(output_, bytes, sizeof(bytes));
    return size > 0 ? std::string(bytes, static_cast<std::size_t>(size)) : "";
  }

 private:
  pid_t pid_ = -1;
  int output_ = -1;
  int status_ = 0;
  bool ended_ = false;
};

}  // namespace tailor::registration::testing
