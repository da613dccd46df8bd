// The IR that keeps the tag, wherever the strategy has it: for engines that build IR with a builder of their
// own. QueryModule is made of it, and adds lineage.
//
//   llvm::Value* before = emit_tag_read(b, strategy, slot);     // once, at the start of the function
//   llvm::FunctionType* type = tagged_type(strategy, lookup);   // the type of the shared function
//   // Sets the tag, calls, and puts back the tag that was there before:
//   emit_tagged_call(b, strategy, slot, before, tag, {type, function}, args);
//
// docs/tags.md says what else each strategy needs of the engine; in short: with kR15 the machine pass of
// compiler/llvm/tag_register_pass.h and no tail calls, with kSwiftSelf nothing, with kMemorySlot the slot's
// address.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "compiler/llvm/deprecated_ir_names.h"
#include "compiler/llvm/tag_strategy.h"

namespace tailor::jit {

// Where LLVM does not know r15 by its name (llvm_api.h), these move it by inline assembly, which names it to
// nobody: TagRegisterPass says what they write and read.
inline constexpr const char* kWriteImmediateAssembly = "movabsq $0, %r15";
inline constexpr const char* kWriteAssembly = "movq $0, %r15";
inline constexpr const char* kReadAssembly = "movq %r15, $0";

// For kR15 and kMemorySlot; `slot` is the slot's address with kMemorySlot, else unused. The code is
// neither moved across calls nor deleted, and lets other memory accesses move past it.
void emit_tag_write(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag);
llvm::Value* emit_tag_read(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot);

// The type under which generated code calls a shared function of `type`: with kSwiftSelf one more pointer at
// the end, which the function itself ignores.
llvm::FunctionType* tagged_type(TagStrategy strategy, llvm::FunctionType* type);

// Calls `callee`, whose type is a tagged_type, on behalf of `tag`, and puts back `before` (unused with
// kSwiftSelf and kNone, where nothing is put back: the register is the caller's own). The callee must not be
// declared free of side effects: its call would move away from its tag.
llvm::CallInst* emit_tagged_call(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot,
                                 llvm::Value* before, llvm::ConstantInt* tag, llvm::FunctionCallee callee,
                                 llvm::ArrayRef<llvm::Value*> args, const llvm::Twine& name = "");

}  // namespace tailor::jit
