#include "compiler/llvm/location_inference.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include "compiler/llvm/line_code.h"

namespace tailor::jit {
namespace {

tagging::Link LinkOf(const llvm::Instruction& instruction) {
  return LineageOf(instruction.getDebugLoc()).link;
}

// A value is made for its user.
tagging::Link FromUser(const llvm::Instruction& instruction) {
  for (const llvm::User* user : instruction.users()) {
    const auto* reader = llvm::dyn_cast<llvm::Instruction>(user);
    if (reader != nullptr && !LinkOf(*reader).none()) return LinkOf(*reader);
  }
  return {};
}

// A jump belongs to what it leads to: guards and preheaders are made for the loop.
tagging::Link FromTarget(const llvm::Instruction& instruction) {
  if (!llvm::isa<llvm::BranchInst>(instruction)) return {};
  for (const llvm::BasicBlock* block : llvm::successors(instruction.getParent())) {
    const llvm::Instruction* first = block->getFirstNonPHIOrDbg();
    if (first != nullptr && !LinkOf(*first).none()) return LinkOf(*first);
  }
  return {};
}

tagging::Link FromUserOrOperand(const llvm::Instruction& instruction) {
  if (const tagging::Link link = FromUser(instruction); !link.none()) return link;
  for (const llvm::Value* operand : instruction.operands()) {
    const auto* writer = llvm::dyn_cast<llvm::Instruction>(operand);
    if (writer != nullptr && !LinkOf(*writer).none()) return LinkOf(*writer);
  }
  return {};
}

tagging::Link FromNeighbour(const llvm::Instruction& instruction) {
  const llvm::Instruction* before = instruction.getPrevNode();
  if (before != nullptr && !LinkOf(*before).none()) return LinkOf(*before);
  const llvm::Instruction* after = instruction.getNextNode();
  if (after != nullptr && !LinkOf(*after).none()) return LinkOf(*after);
  for (const llvm::BasicBlock* block : llvm::predecessors(instruction.getParent())) {
    const llvm::Instruction* end = block->getTerminator();
    if (end != nullptr && !LinkOf(*end).none()) return LinkOf(*end);
  }
  return {};
}

bool Round(llvm::Function& function, llvm::DILocalScope* scope,
           tagging::Link (*infer)(const llvm::Instruction&)) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (!LinkOf(instruction).none()) continue;
      tagging::Link link = infer(instruction);
      if (link.none()) continue;
      instruction.setDebugLoc(LocationOf({link, true}, scope, nullptr));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

void InferLocations(llvm::Function& function, llvm::DILocalScope* scope) {
  while (Round(function, scope, FromUser)) {
  }
  while (Round(function, scope, FromTarget)) {
  }
  while (Round(function, scope, FromUserOrOperand)) {
  }
  while (Round(function, scope, FromNeighbour)) {
  }
}

}  // namespace tailor::jit
