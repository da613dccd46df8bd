#include "compiler/llvm/tag_code.h"

#include <llvm/IR/Intrinsics.h>

namespace tailor::jit {
namespace {

llvm::Value* TagRegister(llvm::LLVMContext& context) {
  auto* name = llvm::MDNode::get(context, llvm::MDString::get(context, "r15"));
  return llvm::MetadataAsValue::get(context, name);
}

// The register is memory that no other code can name.
void TouchesTheRegisterOnly(llvm::CallInst* call) {
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
}

}  // namespace

void EmitTagWrite(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag) {
  if (strategy == TagStrategy::kMemorySlot) {
    // Atomic, so that it is neither sunk nor deleted; on x86-64 it is still a plain store.
    builder.CreateAlignedStore(tag, slot, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
    return;
  }
  TouchesTheRegisterOnly(builder.CreateIntrinsic(llvm::Intrinsic::write_register, {builder.getInt64Ty()},
                                                 {TagRegister(builder.getContext()), tag}));
}

llvm::Value* EmitTagRead(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot) {
  if (strategy == TagStrategy::kMemorySlot)
    return builder.CreateLoad(builder.getInt64Ty(), slot, "entry_tag");
  auto* read = builder.CreateIntrinsic(llvm::Intrinsic::read_register, {builder.getInt64Ty()},
                                       {TagRegister(builder.getContext())}, nullptr, "entry_tag");
  TouchesTheRegisterOnly(read);
  return read;
}

}  // namespace tailor::jit
