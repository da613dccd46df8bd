#include "compiler/weft/workflow/udf_inliner.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/PostOrderIterator.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/LLVMContext.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace tailor::weft::workflow {
namespace {

// What is known of an instruction and holds for a copy too. Scopes of aliases are not among it: they would
// say that two copies of one function never meet.
constexpr unsigned kKeptMetadata[] = {llvm::LLVMContext::MD_tbaa,  llvm::LLVMContext::MD_tbaa_struct,
                                      llvm::LLVMContext::MD_prof,  llvm::LLVMContext::MD_fpmath,
                                      llvm::LLVMContext::MD_range, llvm::LLVMContext::MD_nonnull,
                                      llvm::LLVMContext::MD_loop};

// Metadata belongs to the context, which is the same.
constexpr llvm::RemapFlags kRemap = llvm::RF_NoModuleLevelChanges;

// Nothing of it is code.
bool says_nothing(const llvm::Instruction& instruction) {
  const auto* intrinsic = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
  return instruction.isDebugOrPseudoInst() ||
         (intrinsic != nullptr &&
          intrinsic->getIntrinsicID() == llvm::Intrinsic::experimental_noalias_scope_decl);
}

}  // namespace

// One function at one place.
class UdfInliner::Copy {
 public:
  Copy(UdfInliner& inliner, llvm::Function& function)
      : inliner_(inliner), function_(function), ir_(inliner.module_.builder()) {}

  llvm::Value* run(llvm::ArrayRef<llvm::Value*> arguments) {
    for (unsigned i = 0; i < function_.arg_size(); ++i) map_[function_.getArg(i)] = arguments[i];
    llvm::LLVMContext& context = inliner_.module_.context();
    llvm::Function* into = ir_.GetInsertBlock()->getParent();
    // In this order, what is used was copied before, but for what a phi takes from a loop. Dead blocks are
    // left out.
    const llvm::ReversePostOrderTraversal<llvm::Function*> blocks(&function_);
    for (llvm::BasicBlock* block : blocks)
      map_[block] = llvm::BasicBlock::Create(context, block->getName(), into);
    after_ = llvm::BasicBlock::Create(context, function_.getName() + ".end");
    ir_.CreateBr(new_block(function_.getEntryBlock()));
    for (llvm::BasicBlock* block : blocks) {
      ir_.SetInsertPoint(new_block(*block));
      for (llvm::Instruction& instruction : *block) copy(instruction);
      ends_[block] = ir_.GetInsertBlock();
    }
    fill_phis();
    into->insert(into->end(), after_);
    ir_.SetInsertPoint(after_);
    return result();
  }

 private:
  llvm::BasicBlock* new_block(const llvm::BasicBlock& block) {
    return llvm::cast<llvm::BasicBlock>(static_cast<llvm::Value*>(map_[&block]));
  }
  llvm::Value* mapped(const llvm::Value* value) {
    if (const auto* constant = llvm::dyn_cast<llvm::Constant>(value)) bring_globals(*constant);
    return llvm::MapValue(value, map_, kRemap);
  }

  void copy(llvm::Instruction& instruction) {
    if (says_nothing(instruction)) return;
    switch (instruction.getOpcode()) {
      case llvm::Instruction::PHI: {
        auto& phi = llvm::cast<llvm::PHINode>(instruction);
        auto* made = llvm::PHINode::Create(phi.getType(), phi.getNumIncomingValues());
        if (llvm::isa<llvm::FPMathOperator>(&phi)) made->copyFastMathFlags(&phi);
        ir_.Insert(made, phi.getName());
        map_[&phi] = made;
        phis_.emplace_back(&phi, made);
        return;
      }
      case llvm::Instruction::Ret: {
        llvm::Value* value = llvm::cast<llvm::ReturnInst>(instruction).getReturnValue();
        returns_.emplace_back(value == nullptr ? nullptr : mapped(value), ir_.GetInsertBlock());
        ir_.CreateBr(after_);
        return;
      }
      case llvm::Instruction::Alloca:
        return copy_variable(llvm::cast<llvm::AllocaInst>(instruction));
      case llvm::Instruction::Call:
        if (copy_call(llvm::cast<llvm::CallInst>(instruction))) return;
        break;
      default:
        break;
    }
    copy_plain(instruction);
  }

  void copy_plain(llvm::Instruction& instruction) {
    for (const llvm::Use& use : instruction.operands())
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(use.get())) bring_globals(*constant);
    llvm::Instruction* made = instruction.clone();
    made->dropUnknownNonDebugMetadata(kKeptMetadata);
    made->setDebugLoc(llvm::DebugLoc());
    // A tail call touches no variable of its function. That was the user's: where the copy stands, the
    // variables are those of the loop, and the call may write to them.
    if (auto* call = llvm::dyn_cast<llvm::CallInst>(made)) call->setTailCallKind(llvm::CallInst::TCK_None);
    ir_.Insert(made, instruction.getName());
    map_[&instruction] = made;
    llvm::RemapInstruction(made, map_, kRemap);
  }

  // In the entry block: the stack must not grow with each tuple.
  void copy_variable(llvm::AllocaInst& variable) {
    if (const auto bytes = variable.getAllocationSize(function_.getParent()->getDataLayout()))
      inliner_.stack_bytes_ += bytes->getKnownMinValue();
    const jit::TrackedBuilder::InsertPointGuard guard(ir_);
    llvm::BasicBlock& entry = ir_.GetInsertBlock()->getParent()->getEntryBlock();
    ir_.SetInsertPoint(&entry, entry.getFirstInsertionPt());
    llvm::Instruction* made = variable.clone();
    made->dropUnknownNonDebugMetadata();
    made->setDebugLoc(llvm::DebugLoc());
    ir_.Insert(made, variable.getName());
    map_[&variable] = made;
  }

  // False: the call is of an intrinsic, which is copied like any instruction.
  bool copy_call(llvm::CallInst& call) {
    llvm::Function& callee = *call.getCalledFunction();
    if (callee.isIntrinsic()) {
      map_[&callee] =
          inliner_.module_.module()
              .getOrInsertFunction(callee.getName(), callee.getFunctionType(), callee.getAttributes())
              .getCallee();
      return false;
    }
    llvm::SmallVector<llvm::Value*, 8> arguments;
    for (unsigned i = 0; i < call.arg_size(); ++i) arguments.push_back(argument(call, i));
    llvm::Value* value = nullptr;
    if (llvm::Function* definition = inliner_.library_.definition(callee)) {
      value = Copy(inliner_, *definition).run(arguments);
    } else {
      // Of the C library. Other tasks call it too, so it runs under this one's tag.
      const llvm::FunctionCallee shared =
          inliner_.module_.declare_shared(callee.getName().str(), callee.getFunctionType());
      value = inliner_.module_.call_shared(shared, arguments, call.getName());
    }
    if (value != nullptr) map_[&call] = value;
    return true;
  }

  // A structure that is passed by value is the callee's own copy.
  llvm::Value* argument(llvm::CallInst& call, unsigned i) {
    llvm::Value* value = mapped(call.getArgOperand(i));
    if (!call.isByValArgument(i)) return value;
    llvm::Type* type = call.getParamByValType(i);
    const llvm::DataLayout& layout = function_.getParent()->getDataLayout();
    const std::uint64_t bytes = layout.getTypeAllocSize(type).getFixedValue();
    const llvm::Align align = std::max(call.getParamAlign(i).valueOrOne(), layout.getABITypeAlign(type));
    inliner_.stack_bytes_ += bytes;
    llvm::AllocaInst* own = inliner_.module_.create_entry_alloca(type, "by_value");
    own->setAlignment(align);
    ir_.CreateMemCpy(own, align, value, call.getParamAlign(i), bytes);
    return own;
  }

  void fill_phis() {
    for (const auto& [phi, made] : phis_) {
      for (unsigned i = 0; i < phi->getNumIncomingValues(); ++i) {
        const auto end = ends_.find(phi->getIncomingBlock(i));
        if (end != ends_.end()) made->addIncoming(mapped(phi->getIncomingValue(i)), end->second);
      }
    }
  }

  llvm::Value* result() {
    llvm::Type* type = function_.getReturnType();
    if (type->isVoidTy()) return nullptr;
    // A function that never returns has no value, and nothing comes behind it.
    if (returns_.empty()) return llvm::PoisonValue::get(type);
    if (returns_.size() == 1) return returns_.front().first;
    llvm::PHINode* value = ir_.CreatePHI(type, static_cast<unsigned>(returns_.size()), function_.getName());
    for (const auto& [each, block] : returns_) value->addIncoming(each, block);
    return value;
  }

  // Copies the constants that `constant` points to into the module, where they are not there yet.
  void bring_globals(const llvm::Constant& constant) {
    llvm::SmallPtrSet<const llvm::Constant*, 8> seen;
    std::vector<const llvm::Constant*> open{&constant};
    std::vector<std::pair<const llvm::GlobalVariable*, llvm::GlobalVariable*>> made;
    while (!open.empty()) {
      const llvm::Constant* each = open.back();
      open.pop_back();
      if (!seen.insert(each).second) continue;
      const auto* global = llvm::dyn_cast<llvm::GlobalVariable>(each);
      if (global == nullptr) {
        for (const llvm::Use& use : each->operands())
          if (const auto* operand = llvm::dyn_cast<llvm::Constant>(use.get())) open.push_back(operand);
        continue;
      }
      if (const auto known = inliner_.globals_.find(global); known != inliner_.globals_.end()) {
        map_[global] = static_cast<llvm::Value*>(known->second);
        continue;
      }
      auto* copied =
          new llvm::GlobalVariable(inliner_.module_.module(), global->getValueType(), /*isConstant=*/true,
                                   llvm::GlobalValue::PrivateLinkage, nullptr, global->getName());
      copied->setAlignment(global->getAlign());
      copied->setUnnamedAddr(global->getUnnamedAddr());
      inliner_.globals_[global] = copied;
      map_[global] = copied;
      made.emplace_back(global, copied);
      open.push_back(global->getInitializer());
    }
    for (const auto& [global, copied] : made)
      copied->setInitializer(llvm::MapValue(global->getInitializer(), inliner_.globals_, kRemap));
  }

  UdfInliner& inliner_;
  llvm::Function& function_;
  jit::TrackedBuilder& ir_;
  llvm::ValueToValueMapTy map_;
  llvm::BasicBlock* after_ = nullptr;
  llvm::DenseMap<const llvm::BasicBlock*, llvm::BasicBlock*> ends_;  // where each block ends in the copy
  std::vector<std::pair<llvm::PHINode*, llvm::PHINode*>> phis_;
  std::vector<std::pair<llvm::Value*, llvm::BasicBlock*>> returns_;
};

llvm::Value* UdfInliner::call(llvm::Function& function, llvm::ArrayRef<llvm::Value*> arguments) {
  return Copy(*this, function).run(arguments);
}

}  // namespace tailor::weft::workflow
