// From the registers and a piece of the stack of one sample: its call chain, and its tag where a library had
// put the register aside.
#pragma once

#include <cstdint>
#include <vector>

#include "daemon/capture/decode/agent_tag.h"
#include "daemon/unwind/process_code.h"

namespace tailor::unwind {

struct Walked {
  std::vector<std::uint64_t> chain;  // return addresses, innermost first, without the instruction pointer
  std::uint64_t tag = 0;             // recovered, 0: none; the check fits
  capture::TagFrom from = capture::TagFrom::kRegister;
};

// Walks at most `most` frames by call frame information; where there is none, by frame pointer; and no
// farther than it takes to know whose the sample is. Where the instruction pointer is in generated code or
// the register's value fits, that is not one step. Else the tag is recovered from the first caller in whose
// frame the register holds one. A word elsewhere on the stack that fits is no tag: a variable, or what a call
// that is over has left behind.
Walked walk(const Frame& innermost, const StackView& stack, const capture::AgentTag& tags, ProcessCode& code,
            std::size_t most, TimeNs now);

}  // namespace tailor::unwind
