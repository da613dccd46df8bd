// How a query module is built, and what is known of its functions.
#pragma once

#include <llvm/IR/Value.h>

#include <cstdint>
#include <functional>
#include <string>

#include "compiler/llvm/tag_strategy.h"
#include "proto/base/ids.h"

namespace tailor::jit {

struct QueryModuleOptions {
  std::string name = "query";
  TagStrategy tags = TagStrategy::kNone;
  // The tag of (component of the plan's upper tag level, of its lower one); usually a call of tailor_tag().
  // 0 where a component is unknown. Unused with TagStrategy::kNone.
  std::function<std::uint64_t(ComponentId upper, ComponentId lower)> make_tag = nullptr;
  // Write the tag wherever control passes from one task to another, instead of around shared calls. For
  // samplers that see the tag alone (the observer), and for checking the row table. Always so with
  // kMemorySlot, never with kSwiftSelf.
  bool tag_sections = false;
  // Keep frame pointers, so that perf can unwind through generated code.
  bool frame_pointers = true;
  // Off: no links, no debug locations, an empty IR level. The machine code is the same, but for calls that
  // LLVM inserts itself: their operators are not known, and they carry no tag.
  bool lineage = true;
  // Bytes without meaning in front of every function. Benchmarks vary it: where code lies decides how fast a
  // tight loop runs, and an average over places tells that from what the code does (Curtsinger and Berger,
  // "STABILIZER: Statistically Sound Performance Evaluation", ASPLOS 2013).
  unsigned padding = 0;
};

// What is known of the tag within one function.
struct FunctionTags {
  llvm::Value* slot = nullptr;       // kMemorySlot
  llvm::Value* entry_tag = nullptr;  // the tag when the function was entered, once it is needed
};

}  // namespace tailor::jit
