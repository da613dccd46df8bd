#include "daemon/unwind/stack_walk.h"

namespace tailor::unwind {
namespace {

using capture::AgentTag;
using capture::TagRegister;

// The tag in the register of a frame, 0 if it holds none.
std::uint64_t tag_in(const Frame& frame, const AgentTag& tags) {
  const unsigned reg = tags.reg == TagRegister::kR13 ? kR13 : kR15;
  return frame.has(reg) && tags.fits(frame.value[reg]) ? frame.value[reg] : 0;
}

// push %rbp; mov %rsp, %rbp: the caller's pointer and the return address lie where it points.
bool step_by_frame_pointer(Frame& frame, const StackView& stack) {
  if (!frame.has(kBp)) return false;
  const auto caller_bp = stack.read(frame.value[kBp]);
  const auto address = stack.read(frame.value[kBp] + 8);
  if (!caller_bp || !address) return false;
  const std::uint64_t cfa = frame.value[kBp] + 16;
  // Which registers the callee has saved, and where, is not known.
  frame.known = 0;
  frame.set(kBp, *caller_bp);
  frame.set(kSp, cfa);
  frame.set(kReturnAddress, *address);
  return true;
}

}  // namespace

Walked walk(const Frame& innermost, const StackView& stack, const AgentTag& tags, ProcessCode& code,
            std::size_t most, TimeNs now) {
  Walked walked;
  Frame frame = innermost;
  bool generated = code.is_generated(frame.value[kReturnAddress]);
  if (generated || tag_in(frame, tags) != 0) return walked;
  bool exact = true;
  while (walked.chain.size() < most && !generated && walked.tag == 0) {
    const std::uint64_t before = frame.has(kSp) ? frame.value[kSp] : 0;
    bool signal = false;
    if (!code.step(frame, exact, stack, signal, now) && !step_by_frame_pointer(frame, stack)) break;
    // Stacks grow down: a caller's frame lies higher. What does not is no stack.
    if (frame.value[kReturnAddress] == 0 || !frame.has(kSp) || frame.value[kSp] <= before) break;
    exact = signal;
    walked.chain.push_back(frame.value[kReturnAddress]);
    walked.tag = tag_in(frame, tags);
    if (walked.tag != 0) walked.from = capture::TagFrom::kUnwound;
    generated |= code.is_generated(frame.value[kReturnAddress] - 1);
  }
  return walked;
}

}  // namespace tailor::unwind
