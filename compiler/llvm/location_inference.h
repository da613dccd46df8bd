// Gives IR instructions that lost their location one that is marked as repaired.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Function.h>

namespace tailor::jit {

// In this order: the first user, an operand, the neighbours in the block, the end of the block before.
void infer_locations(llvm::Function& function, llvm::DILocalScope* scope);

}  // namespace tailor::jit
