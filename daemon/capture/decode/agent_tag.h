// What an agent says of its tags, as far as it takes to know one.
#pragma once

#include <cstdint>

#include "tailor/tag.h"

namespace tailor::capture {

// Where a tag was found. Journalled: never renumber, nor use 2 again.
enum class TagFrom : std::uint8_t {
  kRegister = 0,  // the register itself
  kUnwound = 1,   // where call frame information says a library saved it
};

enum class TagRegister : std::uint8_t { kNone, kR13, kR15 };

struct AgentTag {
  std::uint64_t key = 0;
  TagRegister reg = TagRegister::kNone;
  // Where, from fs base, a thread of the process keeps the address of its tag; 0: in no memory slot.
  std::int64_t slot_offset = 0;
  // The same of its slot, whether tags are there or not; 0: not known.
  std::int64_t thread_slot_offset = 0;
  // The slot says for whom the thread works (tailor_slot.state_of).
  bool slot_has_state = false;

  // The check fits. Says nothing of the plan.
  bool fits(std::uint64_t value) const {
    return reg != TagRegister::kNone && tailor_tag_fits(key, value) != 0;
  }
};

}  // namespace tailor::capture
