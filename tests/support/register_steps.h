// What the registers that can hold a tag hold in code that knows nothing of tags: single-steps a running
// process.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <unordered_map>

#include "proto/base/result.h"

namespace tailor::test {

struct SteppedRegisters {
  std::uint64_t steps = 0;
  std::unordered_map<std::uint64_t, std::uint64_t> r13, r15;  // value -> steps after which it was there
};

// Steps the threads of `pid` that have used most CPU time, one after the other for some thousands of
// instructions, until `steps` were made. The process goes on afterwards. Fails where ptrace is not permitted
// or the process ends. Calling thread only: it is the tracer meanwhile.
Status step_registers(pid_t pid, std::uint64_t steps, SteppedRegisters& out);

}  // namespace tailor::test
