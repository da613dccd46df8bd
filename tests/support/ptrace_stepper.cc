#include "tests/support/ptrace_stepper.h"

#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace tailor {
namespace {

constexpr std::uint8_t kBreakpoint = 0xCC;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::abort();
}

class Follower {
 public:
  Follower(const StepRequest& request, pid_t child) : request_(request), child_(child) {
    for (const TracedInstruction& instruction : request.instructions) {
      if (instruction.is_call) calls_.insert(instruction.address);
    }
    entries_.insert(request.entries.begin(), request.entries.end());
  }

  StepOutcome run() {
    wait();  // for its own stop
    for (const TracedInstruction& instruction : request_.instructions) plant(instruction.address);
    while (to_breakpoint()) {
      follow();
      if (ended_) break;
    }
    out_.finished = WIFEXITED(status_) && WEXITSTATUS(status_) == 0;
    return std::move(out_);
  }

 private:
  // The child stands at an instruction of the code, whose breakpoint is still there.
  void follow() {
    const std::uint64_t first = registers().rip;
    TracedRun run;
    const bool call = entries_.contains(first) && !seen_.contains(first);
    run.from_entry = call;
    std::size_t since_new = 0;
    while (true) {
      const user_regs_struct now = registers();
      const bool is_new = seen_.insert(now.rip).second;
      since_new = is_new ? 0 : since_new + 1;
      const bool enough =
          call ? run.steps.size() >= request_.steps_per_call : since_new > request_.steps_after_new;
      if (enough) break;
      clear(now.rip);
      run.steps.push_back({now.rip, now});
      if (!step()) break;
      const user_regs_struct next = registers();
      if (inside(next.rip)) continue;
      const std::uint64_t back = peek(next.rsp);
      if (!calls_.contains(now.rip) || !inside(back)) {
        run.whole_call = call;
        break;
      }
      if (!run_to(back)) break;
    }
    if (!run.steps.empty()) out_.runs.push_back(std::move(run));
  }

  // Lets called code run until it returns. Code that it calls back is followed by a run of its own, if new.
  bool run_to(std::uint64_t back) {
    const bool ours = !planted_.contains(back);
    if (ours) plant(back);
    while (const auto at = to_breakpoint()) {
      if (at == back) {
        if (ours) clear(back);
        return true;
      }
      follow();
      if (ended_) return false;
    }
    return false;
  }

  // Lets the child run up to a breakpoint, delivers the signals it gets on the way, and leaves it standing
  // there. Its address, or nothing once the child has ended.
  std::optional<std::uint64_t> to_breakpoint() {
    int signal = 0;
    while (go_on(signal)) {
      const std::uint64_t at = registers().rip - 1;
      if (WSTOPSIG(status_) == SIGTRAP && planted_.contains(at)) {
        move_to(at);
        return at;
      }
      signal = WSTOPSIG(status_);
    }
    return std::nullopt;
  }

  bool inside(std::uint64_t address) const { return address >= request_.begin && address < request_.end; }

  bool go_on(int signal) {
    if (ptrace(PTRACE_CONT, child_, nullptr, signal) != 0) fail("PTRACE_CONT");
    return wait();
  }
  bool step() {
    if (ptrace(PTRACE_SINGLESTEP, child_, nullptr, nullptr) != 0) fail("PTRACE_SINGLESTEP");
    return wait();
  }
  bool wait() {
    if (waitpid(child_, &status_, 0) != child_) fail("waitpid");
    ended_ = !WIFSTOPPED(status_);
    return !ended_;
  }
  user_regs_struct registers() const {
    user_regs_struct registers;
    if (ptrace(PTRACE_GETREGS, child_, nullptr, &registers) != 0) fail("PTRACE_GETREGS");
    return registers;
  }
  void move_to(std::uint64_t ip) {
    user_regs_struct regs = registers();
    regs.rip = ip;
    if (ptrace(PTRACE_SETREGS, child_, nullptr, &regs) != 0) fail("PTRACE_SETREGS");
  }

  std::uint64_t peek(std::uint64_t address) const {
    return static_cast<std::uint64_t>(ptrace(PTRACE_PEEKDATA, child_, address, nullptr));
  }
  std::uint8_t exchange(std::uint64_t address, std::uint8_t byte) {
    const std::uint64_t word = peek(address);
    if (ptrace(PTRACE_POKEDATA, child_, address, (word & ~std::uint64_t{0xFF}) | byte) != 0)
      fail("PTRACE_POKEDATA");
    return static_cast<std::uint8_t>(word);
  }
  void plant(std::uint64_t address) { planted_[address] = exchange(address, kBreakpoint); }
  void clear(std::uint64_t address) {
    auto it = planted_.find(address);
    if (it == planted_.end()) return;
    exchange(address, it->second);
    planted_.erase(it);
  }

  const StepRequest& request_;
  const pid_t child_;
  int status_ = 0;
  bool ended_ = false;
  std::unordered_set<std::uint64_t> calls_, entries_, seen_;
  std::unordered_map<std::uint64_t, std::uint8_t> planted_;  // and the byte that was there
  StepOutcome out_;
};

}  // namespace

StepOutcome follow_with_ptrace(const StepRequest& request, const std::function<bool()>& body) {
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child < 0) fail("fork");
  if (child == 0) {
    ptrace(PTRACE_TRACEME, 0, nullptr, nullptr);
    raise(SIGSTOP);
    _exit(body() ? 0 : 1);
  }
  return Follower(request, child).run();
}

}  // namespace tailor
