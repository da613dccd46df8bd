// The IR that reads and writes the tag, wherever the strategy keeps it.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/llvm/tag_strategy.h"

namespace tailor::jit {

// Where LLVM does not know r15 by its name (llvm_api.h), these move it by inline assembly, which names it to
// nobody: TagRegisterPass says what they write and read.
inline constexpr const char* kWriteImmediateAssembly = "movabsq $0, %r15";
inline constexpr const char* kWriteAssembly = "movq $0, %r15";
inline constexpr const char* kReadAssembly = "movq %r15, $0";

// For kR15 and kMemorySlot; `slot` is the slot's address with kMemorySlot, else unused. What is emitted is
// neither moved across calls nor deleted, and lets other memory accesses move past it.
void EmitTagWrite(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag);
llvm::Value* EmitTagRead(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot);

}  // namespace tailor::jit
