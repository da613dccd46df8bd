#include "compiler/llvm/tag_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/ModRef.h>

#include <vector>

#include "compiler/llvm/llvm_api.h"

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

llvm::CallInst* Assembly(llvm::IRBuilderBase& builder, llvm::FunctionType* type, const char* text,
                         const char* constraints, llvm::ArrayRef<llvm::Value*> arguments) {
  return builder.CreateCall(llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true),
                            arguments);
}

llvm::CallInst* WriteByAssembly(llvm::IRBuilderBase& builder, llvm::Value* tag) {
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, false);
  if (llvm::isa<llvm::ConstantInt>(tag)) return Assembly(builder, type, kWriteImmediateAssembly, "i", {tag});
  return Assembly(builder, type, kWriteAssembly, "r", {tag});
}

llvm::CallInst* ReadByAssembly(llvm::IRBuilderBase& builder) {
  auto* type = llvm::FunctionType::get(builder.getInt64Ty(), false);
  llvm::CallInst* read = Assembly(builder, type, kReadAssembly, "=r", {});
  read->setName("entry_tag");
  return read;
}

}  // namespace

void EmitTagWrite(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag) {
  if (strategy == TagStrategy::kMemorySlot) {
    // Atomic, so that it is neither sunk nor deleted; on x86-64 it is still a plain store.
    builder.CreateAlignedStore(tag, slot, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
    return;
  }
  if (!kNamesTagRegister) return TouchesTheRegisterOnly(WriteByAssembly(builder, tag));
  TouchesTheRegisterOnly(builder.CreateIntrinsic(llvm::Intrinsic::write_register, {builder.getInt64Ty()},
                                                 {TagRegister(builder.getContext()), tag}));
}

llvm::Value* EmitTagRead(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot) {
  if (strategy == TagStrategy::kMemorySlot)
    return builder.CreateLoad(builder.getInt64Ty(), slot, "entry_tag");
  auto* read = kNamesTagRegister
                   ? builder.CreateIntrinsic(llvm::Intrinsic::read_register, {builder.getInt64Ty()},
                                             {TagRegister(builder.getContext())}, nullptr, "entry_tag")
                   : ReadByAssembly(builder);
  TouchesTheRegisterOnly(read);
  return read;
}

llvm::FunctionType* TaggedType(TagStrategy strategy, llvm::FunctionType* type) {
  if (strategy != TagStrategy::kSwiftSelf) return type;
  std::vector<llvm::Type*> params(type->param_begin(), type->param_end());
  params.push_back(llvm::PointerType::getUnqual(type->getContext()));
  return llvm::FunctionType::get(type->getReturnType(), params, type->isVarArg());
}

llvm::CallInst* EmitTaggedCall(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot,
                               llvm::Value* before, llvm::ConstantInt* tag, llvm::FunctionCallee callee,
                               llvm::ArrayRef<llvm::Value*> args, const llvm::Twine& name) {
  if (strategy == TagStrategy::kNone) return builder.CreateCall(callee, args, name);
  if (strategy == TagStrategy::kSwiftSelf) {
    std::vector<llvm::Value*> all(args.begin(), args.end());
    all.push_back(llvm::ConstantExpr::getIntToPtr(tag, builder.getPtrTy()));
    llvm::CallInst* call = builder.CreateCall(callee, all, name);
    call->addParamAttr(static_cast<unsigned>(args.size()), llvm::Attribute::SwiftSelf);
    return call;
  }
  EmitTagWrite(builder, strategy, slot, tag);
  llvm::CallInst* call = builder.CreateCall(callee, args, name);
  EmitTagWrite(builder, strategy, slot, before);
  return call;
}

}  // namespace tailor::jit
