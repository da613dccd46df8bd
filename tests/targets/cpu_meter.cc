// cpu_meter FILE COMMAND [ARG...]: runs the command and appends "user_ns system_ns wall_ns exit" to FILE.
// It measures the command alone, also where a profiler that starts processes of its own is wrapped around it.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace {
long long nanoseconds(const timeval& t) {
  return t.tv_sec * 1'000'000'000LL + t.tv_usec * 1000LL;
}
}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: cpu_meter FILE COMMAND [ARG...]\n");
    return 2;
  }
  const auto start = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) {
    std::perror("cpu_meter: fork");
    return 2;
  }
  if (child == 0) {
    execvp(argv[2], argv + 2);
    std::perror(argv[2]);
    _exit(127);
  }
  int status = 0;
  rusage usage{};
  if (wait4(child, &status, 0, &usage) != child) {
    std::perror("cpu_meter: wait4");
    return 2;
  }
  const auto wall = std::chrono::steady_clock::now() - start;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  std::FILE* out = std::fopen(argv[1], "a");
  if (out == nullptr) {
    std::perror(argv[1]);
    return 2;
  }
  std::fprintf(out, "%lld %lld %lld %d\n", nanoseconds(usage.ru_utime), nanoseconds(usage.ru_stime),
               static_cast<long long>(std::chrono::nanoseconds(wall).count()), code);
  std::fclose(out);
  return code;
}
