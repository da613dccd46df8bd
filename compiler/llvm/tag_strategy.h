// Where generated code keeps the tag while shared code runs (docs/ARCHITECTURE.md, Tag).
#pragma once

namespace tailor::jit {

// The values are those of enum tailor_tag_strategy in <tailor/agent.h>.
enum class TagStrategy {
  kNone = 0,
  kR15 = 1,         // r15, kept out of all generated code; the runtime is compiled with -ffixed-r15
  kSwiftSelf = 2,   // r13, as the last argument of shared functions, marked swiftself
  kMemorySlot = 3,  // the thread's slot, see QueryModule::set_slot
};

}  // namespace tailor::jit
