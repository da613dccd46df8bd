// Begins children by vfork, one after the other, until it has used SECONDS of CPU time: vfork_loop SECONDS.
// Most of them end at once, and each fourth one executes this program, which ends at once then.
//
// In vfork() the return address is in a register, and the stack is the child's and the parent's at once.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <string_view>

namespace {

char g_name[] = "vfork_loop", g_child[] = "child";
char* g_arguments[] = {g_name, g_child, nullptr};
volatile int g_sink;

double used() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) / 1e9;
}

}  // namespace

extern "C" {

// False: there is no child.
[[gnu::noinline]] bool start_one(bool executes) {
  const pid_t child = ::vfork();  // NOLINT(bugprone-unsafe-functions): its frames are what is looked at
  if (child == 0) {
    if (executes) ::execv("/proc/self/exe", g_arguments);
    ::_exit(0);
  }
  int status = 0;
  if (child > 0) ::waitpid(child, &status, 0);
  g_sink = status;
  return child > 0;
}

[[gnu::noinline]] bool start_many(double seconds) {
  for (unsigned i = 0; used() < seconds; ++i) {
    if (!start_one(i % 4 == 0)) return false;
  }
  g_sink = 0;  // no tail call
  return true;
}

}  // extern "C"

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  if (std::string_view(argv[1]) == g_child) return 0;
  return start_many(std::atof(argv[1])) ? 0 : 1;
}
