#include "daemon/unwind/stack_walk.h"

#include <algorithm>
#include <optional>

#include "daemon/unwind/first_argument.h"
#include "tailor/thread_area.h"

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

// Native code, which the anchor's frame called, lies below it. A walk that comes out above it without having
// passed generated code has lost the way.
class AnchorAhead {
 public:
  AnchorAhead(const Frame& innermost, const StackView& stack) : anchor_(stack.anchor) {
    const auto below = anchor_.ip == 0 && anchor_.sp != 0 ? stack.read(anchor_.sp - 8) : std::nullopt;
    frame_.set(kSp, anchor_.sp);
    frame_.set(kReturnAddress, below.value_or(anchor_.ip));
    if (anchor_.bp != 0) frame_.set(kBp, anchor_.bp);
    ahead_ = frame_.value[kReturnAddress] != 0;
    pass(innermost);
  }
  // `frame` is where the walk is now.
  void pass(const Frame& frame) { ahead_ &= frame.has(kSp) && frame.value[kSp] < anchor_.sp; }
  // To the anchor, and no farther afterwards. False: it is not ahead.
  bool go(Frame& frame) {
    if (!ahead_) return false;
    frame = frame_;
    ahead_ = false;
    return true;
  }
  // Whether a step to `frame`, which is no generated code, went past it.
  bool is_past(const Frame& frame) const { return ahead_ && frame.has(kSp) && frame.value[kSp] > anchor_.sp; }

 private:
  Anchor anchor_;
  Frame frame_;
  bool ahead_ = false;
};

enum class Step : std::uint8_t { kNone, kByTable, kOtherwise };

// Makes `frame` its caller's. `signal` becomes whether that was interrupted rather than called.
Step step(Frame& frame, bool exact, const StackView& stack, bool& signal, ProcessCode& code,
          AnchorAhead& anchor, TimeNs now) {
  const Frame before = frame;
  signal = false;
  if (code.step(frame, exact, stack, signal, now)) {
    if (!anchor.is_past(frame) || code.is_registered(frame.value[kReturnAddress] - 1)) return Step::kByTable;
    frame = before;
    signal = false;
  }
  if (anchor.go(frame)) return Step::kOtherwise;
  // Where a table may say otherwise, the frame pointer would be a guess.
  return !code.lacks() && step_by_frame_pointer(frame, stack) ? Step::kOtherwise : Step::kNone;
}

// Looks for the object frame by frame, from the innermost one on.
class ObjectSearch {
 public:
  ObjectSearch(const Objects& objects, const StackView& stack, ProcessCode& code)
      : objects_(objects), stack_(stack), code_(code), ends_(objects.addresses.empty()) {}

  // `frame` was left for `caller` by call frame information.
  void pass(const Frame& frame, bool exact, const Frame& caller) {
    if (ends_) return;
    const auto argument = argument_of(frame, exact, caller.value[kSp]);
    const auto site = site_of(caller);
    if (code_.lacks()) return end();
    const bool method = site && site->method == static_cast<std::int32_t>(objects_.method);
    const std::size_t place = argument ? place_of(*argument) : 0;
    if (!doubtful_) found_ = place;
    ends_ = place != 0 || (!argument && method);
    doubtful_ = !argument && site && site->by_register;
  }
  // What lies beyond is not looked at.
  void end() { ends_ = true; }
  std::size_t found() const { return found_; }

 private:
  std::optional<std::uint64_t> argument_of(const Frame& frame, bool exact, std::uint64_t cfa) {
    const std::uint64_t address = frame.value[kReturnAddress];
    const auto [function, bias] = code_.argument_at(address - (exact ? 0 : 1));
    if (function == nullptr) return std::nullopt;
    return value_in(exact ? function->at(address - bias) : function->during_call(address - bias), frame, cfa,
                    stack_);
  }
  std::optional<FirstArgument::CallSite> site_of(const Frame& caller) {
    const std::uint64_t address = caller.value[kReturnAddress];
    const auto [function, bias] = code_.argument_at(address - 1);
    return function == nullptr ? std::nullopt : function->call_before(address - bias);
  }
  std::size_t place_of(std::uint64_t argument) const {
    if (argument == 0) return 0;
    const auto& all = objects_.addresses;
    const auto at = std::ranges::find_if(
        all, [&](std::uint64_t each) { return (each & ~std::uint64_t{TAILOR_OBJECT_HIDDEN}) == argument; });
    return at == all.end() ? 0 : static_cast<std::size_t>(at - all.begin()) + 1;
  }

  const Objects& objects_;
  const StackView& stack_;
  ProcessCode& code_;
  bool ends_;
  // The callee's argument is not known, nor which function was called: that may have jumped to a method.
  bool doubtful_ = false;
  std::size_t found_ = 0;
};

}  // namespace

Walked walk(const Frame& innermost, const StackView& stack, const AgentTag& tags, ProcessCode& code,
            std::size_t most, TimeNs now, const Objects& objects) {
  Walked walked;
  Frame frame = innermost;
  bool generated = code.is_generated(frame.value[kReturnAddress]);
  if (generated || tag_in(frame, tags) != 0) return walked;
  ObjectSearch search(objects, stack, code);
  bool exact = true;
  AnchorAhead anchor(innermost, stack);
  code.begin_walk(now);
  walked.end = WalkEnd::kFrames;
  while (walked.chain.size() < most && !generated && walked.tag == 0) {
    if (code.is_spent()) {
      walked.end = WalkEnd::kWork;
      break;
    }
    const Frame callee = frame;
    const std::uint64_t before = frame.has(kSp) ? frame.value[kSp] : 0;
    bool signal = false;
    const Step how = step(frame, exact, stack, signal, code, anchor, now);
    if (how == Step::kNone) {
      walked.end = code.why_not();
      break;
    }
    // Stacks grow down: a caller's frame lies higher. What does not is no stack. The innermost function alone
    // may have its return address in a register, and its caller's stack pointer then: vfork has.
    const std::uint64_t least = exact && walked.chain.empty() && how == Step::kByTable ? before : before + 1;
    if (!frame.has(kSp) || frame.value[kSp] < least) {
      walked.end = WalkEnd::kNonsense;
      break;
    }
    if (frame.value[kReturnAddress] == 0) {
      walked.end = WalkEnd::kBegin;
      break;
    }
    anchor.pass(frame);
    if (how == Step::kByTable)
      search.pass(callee, exact, frame);
    else
      search.end();
    exact = signal;
    walked.chain.push_back(frame.value[kReturnAddress]);
    walked.tag = tag_in(frame, tags);
    if (walked.tag != 0) walked.from = capture::TagFrom::kUnwound;
    generated |= code.is_generated(frame.value[kReturnAddress] - 1);
  }
  if (generated || walked.tag != 0) walked.end = WalkEnd::kKnown;
  walked.object = search.found();
  walked.unread = code.lacks();
  return walked;
}

}  // namespace tailor::unwind
