// What a SealedModule holds. For the folder itself.
#pragma once

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <memory>
#include <vector>

#include "compiler/llvm/sealed_module.h"
#include "compiler/llvm/tag_strategy.h"

namespace tailor::jit {

struct SealedModule::State {
  std::unique_ptr<llvm::LLVMContext> context;  // before the module: it must outlive it
  std::unique_ptr<llvm::Module> module;
  ComponentId first = 1;
  std::uint32_t count = 0;
  std::uint32_t adopted = 0;
  TagStrategy tags = TagStrategy::kNone;
  bool tag_sections = false;
  bool lineage = true;
  // Of IR component first + i, for the calls that LLVM inserts itself. Empty without tags.
  std::vector<std::uint64_t> component_tags;
};

}  // namespace tailor::jit
