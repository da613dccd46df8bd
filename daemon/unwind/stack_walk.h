// From the registers and a piece of the stack of one sample: its call chain, and its tag where a library had
// put the register aside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/capture/decode/agent_tag.h"
#include "daemon/unwind/process_code.h"
#include "daemon/unwind/walk_end.h"

namespace tailor::unwind {

// The operators of a thread's plan that are objects (tailor/objects.h).
struct Objects {
  std::uint32_t method = 0;
  std::span<const std::uint64_t> addresses;
};

struct Walked {
  std::vector<std::uint64_t> chain;  // return addresses, innermost first, without the instruction pointer
  std::uint64_t tag = 0;             // recovered, 0: none; the check fits
  capture::TagFrom from = capture::TagFrom::kRegister;
  WalkEnd end = WalkEnd::kKnown;
  bool unread = false;  // callers or the object are missing: a file is not read yet, see ProcessCode::lacks()
  std::size_t object = 0;  // the place, from 1, of the one whose function is innermost; 0: not known
};

// Walks at most `most` frames by call frame information; where there is none, it goes on at the stack's
// anchor, or by frame pointer; and no farther than it takes to know whose the sample is. Where the
// instruction pointer is in generated code or the register's value fits, that is not one step. Else the tag
// is recovered from the first caller in whose frame the register holds one. A word elsewhere on the stack
// that fits is no tag: a variable, or what a call that is over has left behind.
//
// An object is that of the innermost function whose first argument is one. Where a function was called as the
// method that begins an object's work, and its argument is not known, nothing is said: the object of a caller
// would be a guess, and so would the object whose method it called, as that may have jumped to another's. So
// it would where a function of an object called one whose address was in a register, and its argument is not
// known: that may have jumped to a method. So it is beyond a frame that was not left by call frame
// information.
Walked walk(const Frame& innermost, const StackView& stack, const capture::AgentTag& tags, ProcessCode& code,
            std::size_t most, TimeNs now, const Objects& objects = {});

}  // namespace tailor::unwind
