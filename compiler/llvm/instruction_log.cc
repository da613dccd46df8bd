#include "compiler/llvm/instruction_log.h"

namespace tailor::jit {

void InstructionLog::Record(llvm::Instruction* instruction) {
  entries_.push_back({llvm::WeakVH(instruction), pool_.Intern(tracker_.active())});
}

llvm::DenseMap<const llvm::Instruction*, tagging::Link> InstructionLog::Live() const {
  llvm::DenseMap<const llvm::Instruction*, tagging::Link> live;
  live.reserve(static_cast<unsigned>(entries_.size()));
  for (const Entry& entry : entries_) {
    if (entry.instruction == nullptr) continue;
    live[llvm::cast<llvm::Instruction>(static_cast<llvm::Value*>(entry.instruction))] = entry.owners;
  }
  return live;
}

}  // namespace tailor::jit
