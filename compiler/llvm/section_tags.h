// Writes the tag wherever control passes from one task to another.
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>

#include <functional>

#include "compiler/llvm/instruction_log.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/tagging/link.h"

namespace tailor::jit {

struct SectionTagging {
  TagStrategy strategy = TagStrategy::kR15;
  llvm::Value* slot = nullptr;       // kMemorySlot
  llvm::Value* entry_tag = nullptr;  // kMemorySlot: put back when the function returns
  std::function<std::uint64_t(tagging::Link)> tag_of = nullptr;
};

// Inserts the writes into `function`, each owned by the task that it announces, and adds them to `owners`. A
// block writes at its start unless every block before it ends in the same task. With kR15 the frame restores
// the caller's tag.
void insert_section_tags(llvm::Function& function, const SectionTagging& tagging, OwnerMap& owners);

}  // namespace tailor::jit
