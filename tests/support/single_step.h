// Runs a function one machine instruction at a time, in this thread, without a debugger: the trap flag makes
// the processor raise SIGTRAP after every instruction.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tailor {

struct Step {
  std::uint64_t ip;   // of the instruction about to run
  std::uint64_t r15;  // what the register holds then
};

// Calls `body` and returns the steps whose ip is in [begin, end). One thread at a time; takes SIGTRAP over
// while it runs. `capacity` bounds the steps that are kept; one more than that aborts the process.
std::vector<Step> single_step(std::uint64_t begin, std::uint64_t end, std::size_t capacity,
                              const std::function<void()>& body);

}  // namespace tailor
