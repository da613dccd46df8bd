#include "compiler/llvm/tag_code.h"

#include <llvm/IR/Constants.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/Support/ModRef.h>

#include <vector>

#include "compiler/llvm/llvm_api.h"

namespace tailor::jit {
namespace {

llvm::Value* tag_register(llvm::LLVMContext& context) {
  auto* name = llvm::MDNode::get(context, llvm::MDString::get(context, "r15"));
  return llvm::MetadataAsValue::get(context, name);
}

// The register is memory that no other code can name.
void touches_the_register_only(llvm::CallInst* call) {
  call->setMemoryEffects(llvm::MemoryEffects::inaccessibleMemOnly());
  call->setDoesNotThrow();
  call->addFnAttr(llvm::Attribute::WillReturn);
}

llvm::CallInst* assembly(llvm::IRBuilderBase& builder, llvm::FunctionType* type, const char* text,
                         const char* constraints, llvm::ArrayRef<llvm::Value*> arguments) {
  return builder.CreateCall(llvm::InlineAsm::get(type, text, constraints, /*hasSideEffects=*/true),
                            arguments);
}

llvm::CallInst* write_by_assembly(llvm::IRBuilderBase& builder, llvm::Value* tag) {
  auto* type = llvm::FunctionType::get(builder.getVoidTy(), {builder.getInt64Ty()}, false);
  if (llvm::isa<llvm::ConstantInt>(tag)) return assembly(builder, type, kWriteImmediateAssembly, "i", {tag});
  return assembly(builder, type, kWriteAssembly, "r", {tag});
}

llvm::CallInst* read_by_assembly(llvm::IRBuilderBase& builder) {
  auto* type = llvm::FunctionType::get(builder.getInt64Ty(), false);
  llvm::CallInst* read = assembly(builder, type, kReadAssembly, "=r", {});
  read->setName("entry_tag");
  return read;
}

}  // namespace

void emit_tag_write(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot, llvm::Value* tag) {
  if (strategy == TagStrategy::kMemorySlot) {
    // Atomic, so that it is neither sunk nor deleted; on x86-64 it is still a plain store.
    builder.CreateAlignedStore(tag, slot, llvm::Align(8))->setAtomic(llvm::AtomicOrdering::Monotonic);
    return;
  }
  if (!kNamesTagRegister) return touches_the_register_only(write_by_assembly(builder, tag));
  touches_the_register_only(builder.CreateIntrinsic(llvm::Intrinsic::write_register, {builder.getInt64Ty()},
                                                    {tag_register(builder.getContext()), tag}));
}

llvm::Value* emit_tag_read(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot) {
  if (strategy == TagStrategy::kMemorySlot)
    return builder.CreateLoad(builder.getInt64Ty(), slot, "entry_tag");
  auto* read = kNamesTagRegister
                   ? builder.CreateIntrinsic(llvm::Intrinsic::read_register, {builder.getInt64Ty()},
                                             {tag_register(builder.getContext())}, nullptr, "entry_tag")
                   : read_by_assembly(builder);
  touches_the_register_only(read);
  return read;
}

llvm::FunctionType* tagged_type(TagStrategy strategy, llvm::FunctionType* type) {
  if (strategy != TagStrategy::kSwiftSelf) return type;
  std::vector<llvm::Type*> params(type->param_begin(), type->param_end());
  params.push_back(llvm::PointerType::getUnqual(type->getContext()));
  return llvm::FunctionType::get(type->getReturnType(), params, type->isVarArg());
}

llvm::CallInst* emit_tagged_call(llvm::IRBuilderBase& builder, TagStrategy strategy, llvm::Value* slot,
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
  emit_tag_write(builder, strategy, slot, tag);
  llvm::CallInst* call = builder.CreateCall(callee, args, name);
  emit_tag_write(builder, strategy, slot, before);
  return call;
}

}  // namespace tailor::jit
