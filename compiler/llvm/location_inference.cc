#include "compiler/llvm/location_inference.h"

#include <llvm/IR/CFG.h>
#include <llvm/IR/Instructions.h>

#include "compiler/llvm/line_code.h"

namespace tailor::jit {
namespace {

tagging::Link link_of(const llvm::Instruction& instruction) {
  return lineage_of(instruction.getDebugLoc()).link;
}

// A value is made for its user.
tagging::Link from_user(const llvm::Instruction& instruction) {
  for (const llvm::User* user : instruction.users()) {
    const auto* reader = llvm::dyn_cast<llvm::Instruction>(user);
    if (reader != nullptr && !link_of(*reader).none()) return link_of(*reader);
  }
  return {};
}

// A jump belongs to what it leads to: guards and preheaders are made for the loop.
tagging::Link from_target(const llvm::Instruction& instruction) {
  if (!llvm::isa<llvm::BranchInst>(instruction)) return {};
  for (const llvm::BasicBlock* block : llvm::successors(instruction.getParent())) {
    const llvm::Instruction& first = *block->getFirstNonPHIOrDbg();
    if (!link_of(first).none()) return link_of(first);
  }
  return {};
}

tagging::Link from_user_or_operand(const llvm::Instruction& instruction) {
  if (const tagging::Link link = from_user(instruction); !link.none()) return link;
  for (const llvm::Value* operand : instruction.operands()) {
    const auto* writer = llvm::dyn_cast<llvm::Instruction>(operand);
    if (writer != nullptr && !link_of(*writer).none()) return link_of(*writer);
  }
  return {};
}

tagging::Link from_neighbour(const llvm::Instruction& instruction) {
  const llvm::Instruction* before = instruction.getPrevNode();
  if (before != nullptr && !link_of(*before).none()) return link_of(*before);
  const llvm::Instruction* after = instruction.getNextNode();
  if (after != nullptr && !link_of(*after).none()) return link_of(*after);
  for (const llvm::BasicBlock* block : llvm::predecessors(instruction.getParent())) {
    const llvm::Instruction* end = block->getTerminator();
    if (end != nullptr && !link_of(*end).none()) return link_of(*end);
  }
  return {};
}

bool round(llvm::Function& function, llvm::DILocalScope* scope,
           tagging::Link (*infer)(const llvm::Instruction&)) {
  bool changed = false;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (!link_of(instruction).none()) continue;
      tagging::Link link = infer(instruction);
      if (link.none()) continue;
      instruction.setDebugLoc(location_of({link, true}, scope, nullptr));
      changed = true;
    }
  }
  return changed;
}

}  // namespace

void infer_locations(llvm::Function& function, llvm::DILocalScope* scope) {
  while (round(function, scope, from_user)) {
  }
  while (round(function, scope, from_target)) {
  }
  while (round(function, scope, from_user_or_operand)) {
  }
  while (round(function, scope, from_neighbour)) {
  }
}

}  // namespace tailor::jit
