// From the states of a piece of compiled code to runs of its bytes. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

struct CodeRun {
  std::uint32_t offset = 0;  // of its first byte; it ends where the next one begins
  std::uint32_t state = 0;   // into CompiledCode::states
  bool known = false;        // false: nothing is said of these bytes
  bool inferred = false;     // the state is doubtful
};

// State i describes the instructions that begin behind the end of state i - 1, up to its own end. That of a
// return also has the `ret` behind its poll. Up to the last `ret` of the code the last state counts; what
// lies behind it (slow ways, handlers of exceptions and of deoptimisation) is not known. States that make no
// sense are left out: ends that do not grow, or lie outside of the code.
//
// Inferred are the states of code that was compiled before the JVM was asked for details, those that C2 gives
// to many instructions that have nothing to do with each other (see bulk_states), and the last one behind its
// end.
std::vector<CodeRun> runs_of(const CompiledCode& code);

// For each state whether its frames are those of suspiciously many places: C2 gives nodes that it makes after
// parsing one and the same state. True for frames that come back, after others, in more than 5 % of the
// states and at least 12 times, in code of at least 40 states.
std::vector<bool> bulk_states(const CompiledCode& code);

}  // namespace tailor::jvm
