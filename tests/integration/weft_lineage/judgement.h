// Compares, for every executed instruction, the row table's task with the tag.
//
// The tags are written at every section entry and come from the tracker, before any optimisation; the row
// table is the other end of the lineage. They are independent of each other. Where they differ, LLVM has
// moved an instruction across a tag write, or the row table is wrong. Which of the two is shown by the IR it
// came from and by the values that it read and wrote while it ran.
#pragma once

#include <array>

#include "tests/integration/weft_lineage/traced_query.h"

namespace tailor::weft {

enum class Verdict {
  kAgree,        // the tag's task is an owner
  kMoved,        // recorded as IR of another task, and it does what that IR says, with values of that task's
                 // section that the IR has flow to it or from it
  kServes,       // inferred, and what it writes or reads flows to or from the section of its owner
  kControl,      // a jump or what it tests, found again in the IR as its owner's branch, of the same function
  kNotFollowed,  // moved or serves, but its values came from or went to where it was not followed: shown by
                 // the code, or by another execution under the same tag
  kUntagged,     // before a function's first tag or after its last
  kFrame,        // prologue pseudo-task, and what saves registers or reserves the frame
  kUnexplained,  // none of these
};
inline constexpr std::size_t kVerdicts = 8;

struct Judgement {
  std::array<std::uint64_t, kVerdicts> executed{};  // instructions, each time that they ran
  std::uint64_t impossible_origin = 0;   // recorded as IR that cannot have become such an instruction
  std::vector<std::string> unexplained;  // described, at most a few

  std::uint64_t of(Verdict verdict) const { return executed[static_cast<std::size_t>(verdict)]; }
  // Of what has a tag and is no frame code.
  std::uint64_t judged() const;
  void add(const Judgement& other);
};

// A way to break the row table, for the twin that must fail.
enum class Breakage { kNone, kTasksSwapped, kRowsShifted };

Judgement judge(const TracedQuery& traced, Breakage breakage);

// The finer twin: one row at a time is wrong, all others are right.
struct WrongRows {
  std::size_t tried = 0;
  std::size_t unexplained = 0;   // of which all executions under one tag are
  std::size_t not_followed = 0;  // of the others

  void add(const WrongRows& other) {
    tried += other.tried, unexplained += other.unexplained, not_followed += other.not_followed;
  }
};

// Gives a random `fraction` of the instructions that agree and were recorded the owners of another one of the
// same function that has none of their tasks, one after the other.
WrongRows try_wrong_rows(const TracedQuery& traced, double fraction, std::uint64_t seed);

}  // namespace tailor::weft
