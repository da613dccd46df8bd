// Runs itself as a child again and again, one after the other, until its children have used SECONDS of CPU
// time. Each child works for a millisecond in child_work(): exec_storm fork|spawn SECONDS.
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

constexpr const char* kSelf = "/proc/self/exe";
char g_name[] = "exec_storm", g_child[] = "child";
char* g_arguments[] = {g_name, g_child, nullptr};
volatile unsigned long g_sink;

double used() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

double used_by_children() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

pid_t start(bool spawns) {
  pid_t child = -1;
  if (spawns) return ::posix_spawn(&child, kSelf, nullptr, nullptr, g_arguments, environ) == 0 ? child : -1;
  child = ::fork();
  if (child != 0) return child;
  ::execv(kSelf, g_arguments);
  ::_exit(127);
}

}  // namespace

extern "C" {

[[gnu::noinline]] void child_work(double seconds) {
  const double end = used() + seconds;
  unsigned long sum = 1;
  while (used() < end) {
    for (int i = 0; i < 20'000; ++i) {
      sum = sum * 2862933555777941757UL + 3037000493UL;
      __asm__ volatile("" : "+r"(sum));
    }
  }
  g_sink = sum;
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == g_child) {
    child_work(0.001);
    g_sink = 0;  // no tail call
    return 0;
  }
  if (argc != 3) return 2;
  const bool spawns = std::string_view(argv[1]) == "spawn";
  const double seconds = std::atof(argv[2]);
  while (used_by_children() < seconds) {
    const pid_t child = start(spawns);
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0) return 1;
  }
  return 0;
}
