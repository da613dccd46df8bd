// The rest of deprecated_names.h: of classes and functions whose headers need those of LLVM.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <string>

#include "compiler/llvm/tag_strategy.h"

// NOLINTBEGIN(readability-identifier-naming): this is what they were called.
namespace tailor::jit {

template <typename Module>
class DeprecatedModuleNames {
 public:
  [[deprecated("begin_function")]] llvm::Function* BeginFunction(const std::string& name,
                                                                 llvm::FunctionType* type) {
    return self().begin_function(name, type);
  }
  [[deprecated("create_entry_alloca")]] llvm::AllocaInst* CreateEntryAlloca(llvm::Type* type,
                                                                            const llvm::Twine& name = "") {
    return self().create_entry_alloca(type, name);
  }
  [[deprecated("declare_shared")]] llvm::FunctionCallee DeclareShared(const std::string& name,
                                                                      llvm::FunctionType* type) {
    return self().declare_shared(name, type);
  }
  [[deprecated("call_shared")]] llvm::CallInst* CallShared(llvm::FunctionCallee callee,
                                                           llvm::ArrayRef<llvm::Value*> args,
                                                           const llvm::Twine& name = "") {
    return self().call_shared(callee, args, name);
  }
  [[deprecated("restore_tag")]] void RestoreTag() { self().restore_tag(); }
  [[deprecated("set_slot")]] void SetSlot(llvm::Value* slot) { self().set_slot(slot); }
  [[deprecated("seal")]] auto Seal() { return self().seal(); }

 private:
  friend Module;
  DeprecatedModuleNames() = default;
  Module& self() { return static_cast<Module&>(*this); }
};

template <typename Log>
class DeprecatedInstructionNames {
 public:
  [[deprecated("record")]] void Record(const llvm::Instruction* instruction) {
    static_cast<Log&>(*this).record(instruction);
  }

 private:
  friend Log;
  DeprecatedInstructionNames() = default;
};

void emit_tag_write(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag);
[[deprecated("emit_tag_write")]] inline void EmitTagWrite(llvm::IRBuilderBase& builder, TagStrategy strategy,
                                                          llvm::Value* slot, llvm::Value* tag) {
  emit_tag_write(builder, strategy, slot, tag);
}
llvm::Value* emit_tag_read(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot);
[[deprecated("emit_tag_read")]] inline llvm::Value* EmitTagRead(llvm::IRBuilderBase& builder,
                                                                TagStrategy strategy, llvm::Value* slot) {
  return emit_tag_read(builder, strategy, slot);
}
llvm::FunctionType* tagged_type(TagStrategy strategy, llvm::FunctionType* type);
[[deprecated("tagged_type")]] inline llvm::FunctionType* TaggedType(TagStrategy strategy,
                                                                    llvm::FunctionType* type) {
  return tagged_type(strategy, type);
}

llvm::CallInst* emit_tagged_call(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot,
                                 llvm::Value* before, llvm::ConstantInt* tag, llvm::FunctionCallee callee,
                                 llvm::ArrayRef<llvm::Value*> args, const llvm::Twine& name);
[[deprecated("emit_tagged_call")]] inline llvm::CallInst* EmitTaggedCall(
    llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* before,
    llvm::ConstantInt* tag, llvm::FunctionCallee callee, llvm::ArrayRef<llvm::Value*> args,
    const llvm::Twine& name = "") {
  return emit_tagged_call(builder, strategy, slot, before, tag, callee, args, name);
}

}  // namespace tailor::jit
// NOLINTEND(readability-identifier-naming)
