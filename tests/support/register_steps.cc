#include "tests/support/register_steps.h"

#include <sys/ptrace.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

namespace tailor::test {
namespace {

constexpr std::uint64_t kTurn = 50'000;  // steps in a thread before the next one's

// Threads, the busiest first.
std::vector<pid_t> threads_of(pid_t pid) {
  std::vector<std::pair<std::uint64_t, pid_t>> threads;
  std::error_code gone;
  for (const auto& entry :
       std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task", gone)) {
    std::ifstream file(entry.path() / "stat");
    std::string text;
    std::getline(file, text);
    const std::size_t name_end = text.rfind(')');
    if (name_end == std::string::npos) continue;
    std::uint64_t user = 0;
    char state = 0;
    if (std::sscanf(text.c_str() + name_end + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &state,
                    &user) == 2)
      threads.emplace_back(user, std::stoi(entry.path().filename()));
  }
  std::sort(threads.rbegin(), threads.rend());
  std::vector<pid_t> out;
  for (const auto& [user, tid] : threads) out.push_back(tid);
  return out;
}

// Interrupts a wait that takes long: the thread sleeps in the kernel.
class Alarm {
 public:
  Alarm() {
    struct sigaction action{};
    action.sa_handler = [](int) {};
    ::sigaction(SIGALRM, &action, &before_);
    const itimerval every{{0, 100'000}, {0, 100'000}};
    ::setitimer(ITIMER_REAL, &every, nullptr);
  }
  ~Alarm() {
    const itimerval never{};
    ::setitimer(ITIMER_REAL, &never, nullptr);
    ::sigaction(SIGALRM, &before_, nullptr);
  }

 private:
  struct sigaction before_{};
};

enum class Stop { kStopped, kAsleep, kGone };

Stop wait_for(pid_t tid, int& status, bool may_sleep) {
  for (int interrupted = 0;;) {
    if (::waitpid(tid, &status, __WALL) == tid) return WIFSTOPPED(status) ? Stop::kStopped : Stop::kGone;
    if (errno != EINTR) return Stop::kGone;
    if (may_sleep && ++interrupted > 1) return Stop::kAsleep;
  }
}

// pushf, stepped, leaves the processor's trap flag in the word it pushes, and the kernel takes a trap flag
// that popf may have set for the program's own: it would trap once nobody steps any more, and end the
// process. A JVM saves the flags so around its safepoints. No program here sets the flag by itself.
void take_back_trap_flag(pid_t tid, const user_regs_struct& before, user_regs_struct& after) {
  constexpr unsigned long kTrapFlag = 0x100;
  constexpr unsigned long kPushf = 0x9c;
  if ((after.eflags & kTrapFlag) != 0) {
    after.eflags &= ~kTrapFlag;
    ::ptrace(PTRACE_SETREGS, tid, nullptr, &after);
  }
  if (after.rsp + sizeof(long) != before.rsp) return;
  errno = 0;
  const auto instruction = static_cast<unsigned long>(::ptrace(PTRACE_PEEKTEXT, tid, before.rip, nullptr));
  if (errno != 0 || (instruction & 0xff) != kPushf) return;
  const auto flags = static_cast<unsigned long>(::ptrace(PTRACE_PEEKDATA, tid, after.rsp, nullptr));
  if (errno == 0) ::ptrace(PTRACE_POKEDATA, tid, after.rsp, flags & ~kTrapFlag);
}

// A system call that ends while its caller is stepped traps, and where it was interrupted that trap still
// waits behind the stop: it must not find the thread on its own.
bool trap_waits(pid_t tid) {
  __ptrace_peeksiginfo_args first{};
  first.nr = 8;
  siginfo_t waiting[8];
  const long count = ::ptrace(PTRACE_PEEKSIGINFO, tid, &first, waiting);
  return std::any_of(waiting, waiting + std::max(count, 0l),
                     [](const siginfo_t& signal) { return signal.si_signo == SIGTRAP; });
}

// Steps one thread until its turn is over or it sleeps.
Status step_thread(pid_t tid, std::uint64_t steps, SteppedRegisters& out) {
  const bool seized = ::ptrace(PTRACE_SEIZE, tid, nullptr, nullptr) == 0;
  if (!seized && errno == ESRCH) return Ok{};  // it ended meanwhile
  if (!seized) return Error{std::string("ptrace is refused: ") + std::strerror(errno), errno};
  ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
  int status = 0;
  Stop stop = wait_for(tid, status, false);
  user_regs_struct registers{}, before{};
  if (stop == Stop::kStopped) ::ptrace(PTRACE_GETREGS, tid, nullptr, &before);
  for (std::uint64_t i = 0; i < steps && stop == Stop::kStopped; ++i) {
    // Signals are the program's own (a JVM uses them); only our stops are kept from it.
    const int signal = WSTOPSIG(status);
    const bool ours = signal == SIGTRAP || (status >> 16) != 0;
    if (::ptrace(PTRACE_SINGLESTEP, tid, nullptr, ours ? 0 : signal) != 0) break;
    stop = wait_for(tid, status, true);
    if (stop != Stop::kStopped || ::ptrace(PTRACE_GETREGS, tid, nullptr, &registers) != 0) break;
    ++out.steps;
    ++out.r13[registers.r13];
    ++out.r15[registers.r15];
    take_back_trap_flag(tid, before, registers);
    before = registers;
  }
  if (stop == Stop::kAsleep) {
    ::ptrace(PTRACE_INTERRUPT, tid, nullptr, nullptr);
    stop = wait_for(tid, status, false);
  }
  if (stop == Stop::kStopped && (status >> 16) != 0 && trap_waits(tid)) {
    ::ptrace(PTRACE_CONT, tid, nullptr, 0);
    stop = wait_for(tid, status, false);
  }
  if (stop == Stop::kStopped) ::ptrace(PTRACE_DETACH, tid, nullptr, nullptr);
  return Ok{};
}

}  // namespace

Status step_registers(pid_t pid, std::uint64_t steps, SteppedRegisters& out) {
  Alarm alarm;
  const std::uint64_t end = out.steps + steps;
  while (out.steps < end) {
    const std::uint64_t before = out.steps;
    const std::vector<pid_t> threads = threads_of(pid);
    for (std::size_t i = 0; i < threads.size() && i < 4 && out.steps < end; ++i) {
      if (Status stepped = step_thread(threads[i], std::min(kTurn, end - out.steps), out); !stepped.ok())
        return stepped;
    }
    if (out.steps == before) return Error{"the process makes no more steps"};
  }
  return Ok{};
}

}  // namespace tailor::test
