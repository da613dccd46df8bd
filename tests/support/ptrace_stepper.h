// Runs a function in a child process and follows it with ptrace, one machine instruction at a time, through a
// given piece of code.
#pragma once

#include <sys/user.h>

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace tailor {

// State before an instruction runs.
struct TracedStep {
  std::uint64_t ip = 0;
  user_regs_struct registers{};
};

// Instructions that ran one after the other. Code outside the range that they call runs in between, unseen.
struct TracedRun {
  std::vector<TracedStep> steps;
  bool from_entry = false;  // began at the entry of a function
  bool whole_call = false;  // from there to its return
};

struct TracedInstruction {
  std::uint64_t address = 0;
  bool is_call = false;
};

struct StepRequest {
  std::uint64_t begin = 0, end = 0;                 // the code
  std::span<const TracedInstruction> instructions;  // all of it, ascending
  std::span<const std::uint64_t> entries;           // functions whose first call is followed as a whole
  std::size_t steps_per_call = 1000;                // longer calls are let go, and are not whole
  std::size_t steps_after_new = 48;                 // that a run goes on behind an instruction seen first
};

struct StepOutcome {
  std::vector<TracedRun> runs;
  bool finished = false;  // the body returned true
};

// Follows the first call of each entry; later, wherever an instruction is about to run that no run has seen
// yet, follows the code from there for a while. So every instruction that `body` executes is seen at least
// once. The child is a fork: what `body` changes is lost. `body` must not start threads that run the code.
StepOutcome follow_with_ptrace(const StepRequest& request, const std::function<bool()>& body);

}  // namespace tailor
