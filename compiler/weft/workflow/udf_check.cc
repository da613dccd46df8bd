#include "compiler/weft/workflow/udf_check.h"

#include <fmt/format.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/CFG.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/GlobalVariable.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <algorithm>
#include <map>
#include <vector>

#include "compiler/weft/workflow/allowed_calls.h"
#include "compiler/weft/workflow/limits.h"

namespace tailor::weft::workflow {
namespace {

// Of one function with all that it calls, inlined. Code beyond that is no function of a tuple.
constexpr std::uint64_t kMostInstructions = 50'000;

// Thrown within this file.
struct Refusal {
  std::string what;
};

// "kmeans.cc:12" where the instruction has a line, else "kmeans.cc".
std::string source_of(const llvm::Function& function, const llvm::Instruction* at) {
  const std::string& file = function.getParent()->getModuleIdentifier();
  if (at != nullptr && at->getDebugLoc() && at->getDebugLoc().getLine() != 0)
    return fmt::format("{}:{}", file, at->getDebugLoc().getLine());
  return file;
}

[[noreturn]] void refuse(const llvm::Function& function, const llvm::Instruction* at,
                         const std::string& what) {
  throw Refusal{fmt::format("{} in {} {}", function.getName().str(), source_of(function, at), what)};
}

// Walks over all that a function runs.
class CodeChecker {
 public:
  explicit CodeChecker(const UdfLibrary& library) : library_(library) {}

  void check(llvm::Function& function) { (void)size_of(function); }

 private:
  struct InlinedSize {
    std::uint64_t instructions = 0, stack_bytes = 0;
    void add(InlinedSize other) {
      instructions += other.instructions;
      stack_bytes += other.stack_bytes;
    }
  };

  // Of all that takes the place of a call.
  InlinedSize size_of(llvm::Function& function) {
    if (const auto known = sizes_.find(&function); known != sizes_.end()) return known->second;
    for (const llvm::Function* each : path_)
      if (each == &function) refuse_recursion(function);
    path_.push_back(&function);
    InlinedSize size;
    for (llvm::BasicBlock& block : function) {
      for (llvm::Instruction& instruction : block) {
        ++size.instructions;
        check_instruction(function, instruction);
        if (const auto* variable = llvm::dyn_cast<llvm::AllocaInst>(&instruction))
          size.stack_bytes += bytes_of(function, *variable);
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction)) size.add(check_call(function, *call));
        if (size.instructions > kMostInstructions) {
          refuse(function, &instruction,
                 fmt::format("has more than {} instructions with all that it calls", kMostInstructions));
        }
        if (size.stack_bytes > kMostStackBytes) {
          refuse(
              function, &instruction,
              fmt::format("needs more than {} KiB of stack with all that it calls", kMostStackBytes >> 10));
        }
      }
    }
    path_.pop_back();
    sizes_.emplace(&function, size);
    return size;
  }

  static std::uint64_t bytes_of(const llvm::Function& function, const llvm::AllocaInst& variable) {
    const auto bytes = variable.getAllocationSize(function.getParent()->getDataLayout());
    if (!bytes || bytes->isScalable()) refuse(function, &variable, "has an array whose size is not known");
    return std::min(bytes->getFixedValue(), kMostStackBytes + 1);
  }

  [[noreturn]] void refuse_recursion(const llvm::Function& function) const {
    std::string names;
    bool within = false;
    for (const llvm::Function* each : path_) {
      within |= each == &function;
      if (within) names += each->getName().str() + " > ";
    }
    refuse(function, nullptr,
           fmt::format("calls itself ({}{}): functions are inlined into their loop, so none may", names,
                       function.getName().str()));
  }

  static void check_instruction(llvm::Function& function, llvm::Instruction& instruction) {
    switch (instruction.getOpcode()) {
      case llvm::Instruction::Invoke:
      case llvm::Instruction::Resume:
      case llvm::Instruction::LandingPad:
      case llvm::Instruction::CleanupRet:
      case llvm::Instruction::CatchRet:
      case llvm::Instruction::CatchPad:
      case llvm::Instruction::CleanupPad:
      case llvm::Instruction::CatchSwitch:
        return refuse(function, &instruction,
                      "handles exceptions, and a workflow has none: return a value instead");
      case llvm::Instruction::IndirectBr:
      case llvm::Instruction::CallBr:
        return refuse(function, &instruction, "jumps to an address that it computes");
      case llvm::Instruction::VAArg:
        return refuse(function, &instruction, "has a variable number of arguments");
      case llvm::Instruction::Fence:
      case llvm::Instruction::AtomicCmpXchg:
      case llvm::Instruction::AtomicRMW:
        return refuse(function, &instruction,
                      "has atomic operations: say in the workflow how workers share a context (parallel, "
                      "synchronous or "
                      "asynchronous)");
      case llvm::Instruction::Alloca: {
        // Inside of a loop the stack would grow with each tuple.
        const auto& variable = llvm::cast<llvm::AllocaInst>(instruction);
        if (!variable.isStaticAlloca() || variable.isUsedWithInAlloca() || variable.isSwiftError())
          refuse(function, &instruction, "has an array whose size is not known when it is compiled");
        break;
      }
      case llvm::Instruction::Load:
      case llvm::Instruction::Store:
        if (instruction.isAtomic()) refuse(function, &instruction, "has atomic operations");
        break;
      default:
        break;
    }
    for (const llvm::Use& use : instruction.operands()) {
      const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
      if (call != nullptr && call->isCallee(&use)) continue;
      if (const auto* constant = llvm::dyn_cast<llvm::Constant>(use.get()))
        check_constant(function, instruction, *constant);
    }
  }

  // What a constant points to must be constant too.
  static void check_constant(const llvm::Function& function, const llvm::Instruction& at,
                             const llvm::Constant& constant) {
    llvm::SmallPtrSet<const llvm::Constant*, 16> seen;
    std::vector<const llvm::Constant*> open{&constant};
    while (!open.empty()) {
      const llvm::Constant* each = open.back();
      open.pop_back();
      if (!seen.insert(each).second) continue;
      if (llvm::isa<llvm::BlockAddress>(each)) refuse(function, &at, "takes the address of a label");
      if (const auto* global = llvm::dyn_cast<llvm::GlobalValue>(each)) {
        const auto* variable = llvm::dyn_cast<llvm::GlobalVariable>(global);
        const std::string name = global->getName().str();
        if (variable == nullptr) refuse(function, &at, fmt::format("takes the address of {}", name));
        if (!variable->isConstant() || variable->isThreadLocal())
          refuse(function, &at,
                 fmt::format("uses the global variable {}: what outlives a call is a context of the "
                             "workflow, or constant",
                             name));
        if (!variable->hasDefinitiveInitializer())
          refuse(function, &at, fmt::format("uses the variable {}, which is defined nowhere", name));
        open.push_back(variable->getInitializer());
        continue;
      }
      for (const llvm::Use& use : each->operands()) open.push_back(llvm::cast<llvm::Constant>(use.get()));
    }
  }

  InlinedSize check_call(llvm::Function& function, llvm::CallInst& call) {
    if (call.isInlineAsm()) refuse(function, &call, "has inline assembly");
    llvm::Function* callee = call.getCalledFunction();
    if (callee == nullptr) refuse(function, &call, "calls a function that is known only when it runs");
    if (call.isMustTailCall()) refuse(function, &call, "has a call that must be the last");
    for (unsigned i = 0; i < call.arg_size(); ++i) {
      using llvm::Attribute;
      for (const Attribute::AttrKind kind :
           {Attribute::InAlloca, Attribute::Preallocated, Attribute::SwiftError}) {
        if (call.paramHasAttr(i, kind))
          refuse(function, &call,
                 fmt::format("passes an argument to {} in a way that weft does not know",
                             callee->getName().str()));
      }
    }
    if (callee->isIntrinsic()) {
      if (is_allowed_intrinsic(callee->getIntrinsicID())) return {};
      refuse(function, &call,
             fmt::format("uses {}, which no function of a workflow may", callee->getName().str()));
    }
    if (llvm::Function* definition = library_.definition(*callee)) {
      if (definition->getFunctionType() != call.getFunctionType())
        refuse(function, &call, fmt::format("calls {} as if it had another type", callee->getName().str()));
      if (definition->isVarArg()) refuse(*definition, nullptr, "has a variable number of arguments");
      return size_of(*definition);
    }
    if (is_allowed_math(*callee)) return {};
    refuse(function, &call,
           fmt::format("calls {}. A function calls those of the workflow's files and these of <math.h>: {}",
                       callee->getName().str(), allowed_math_names()));
  }

  const UdfLibrary& library_;
  std::vector<const llvm::Function*> path_;
  std::map<const llvm::Function*, InlinedSize> sizes_;
};

bool has_result(const llvm::Type* type, const SignatureSpec& signature, llvm::LLVMContext& context) {
  switch (signature.result) {
    case SignatureSpec::Returns::kNothing:
      return type->isVoidTy();
    case SignatureSpec::Returns::kValue:
      return type == llvm_type(signature.scalar, context);
    case SignatureSpec::Returns::kTruth:
      return type->isIntegerTy(1) || type->isIntegerTy(8) || type->isIntegerTy(32) || type->isIntegerTy(64);
    case SignatureSpec::Returns::kCount:
      return type->isIntegerTy(32) || type->isIntegerTy(64);
  }
  return false;
}

bool has_parameter(const llvm::Type* type, const ParameterSpec& parameter, llvm::LLVMContext& context) {
  switch (parameter.kind) {
    case ParameterSpec::Kind::kRow:
    case ParameterSpec::Kind::kValue:
      return type == llvm_type(parameter.scalar, context);
    case ParameterSpec::Kind::kReadable:
    case ParameterSpec::Kind::kWritable:
      return type->isPointerTy();
    case ParameterSpec::Kind::kConstant:
      if (type->isDoubleTy() || type->isFloatTy()) return true;
      return parameter.scalar == Scalar::kI64 && (type->isIntegerTy(32) || type->isIntegerTy(64));
  }
  return false;
}

void check_type(const llvm::Function& function, const std::string& name, const SignatureSpec& signature) {
  const llvm::FunctionType* type = function.getFunctionType();
  bool fits = !type->isVarArg() && type->getNumParams() == signature.parameters.size() &&
              has_result(type->getReturnType(), signature, function.getContext());
  for (unsigned i = 0; fits && i < type->getNumParams(); ++i) {
    fits = has_parameter(type->getParamType(i), signature.parameters[i], function.getContext()) &&
           !function.hasParamAttribute(i, llvm::Attribute::ByVal) &&
           !function.hasParamAttribute(i, llvm::Attribute::StructRet);
  }
  if (fits) return;
  std::string has;
  for (const llvm::Type* each : type->params()) {
    if (!has.empty()) has += ", ";
    has += each->isPointerTy()   ? "pointer"
           : each->isDoubleTy()  ? "double"
           : each->isFloatTy()   ? "float"
           : each->isIntegerTy() ? fmt::format("int of {} bits", each->getIntegerBitWidth())
                                 : "another type";
  }
  throw Refusal{fmt::format("{} in {} does not fit its operator, which needs: {}. It has the parameters ({})",
                            name, function.getParent()->getModuleIdentifier(), c_declaration(name, signature),
                            has)};
}

}  // namespace

llvm::Type* llvm_type(Scalar scalar, llvm::LLVMContext& context) {
  switch (scalar) {
    case Scalar::kF64:
      return llvm::Type::getDoubleTy(context);
    case Scalar::kF32:
      return llvm::Type::getFloatTy(context);
    case Scalar::kI64:
      return llvm::Type::getInt64Ty(context);
    case Scalar::kI32:
      return llvm::Type::getInt32Ty(context);
  }
  return nullptr;
}

Status check_udfs(const Workflow& workflow, const UdfLibrary& library) {
  CodeChecker code(library);
  Status status = Ok{};
  visit_functions(workflow, [&](const std::string& name, Place place, const SignatureSpec& signature) {
    if (!status.ok()) return;
    try {
      llvm::Function* function = library.find(name);
      if (function == nullptr) {
        throw Refusal{fmt::format("no file of functions defines {}, which must be: {}{}", name,
                                  c_declaration(name, signature), library.hint(name))};
      }
      check_type(*function, name, signature);
      code.check(*function);
    } catch (const Refusal& refusal) {
      status = error_at(workflow.file, place, refusal.what);
    }
  });
  return status;
}

UdfCounts count_udf(const UdfLibrary& library, llvm::Function& function) {
  UdfCounts counts;
  for (llvm::BasicBlock& block : function) {
    for (llvm::Instruction& instruction : block) {
      if (instruction.isDebugOrPseudoInst() || instruction.isLifetimeStartOrEnd()) continue;
      ++counts.instructions;
      if (llvm::isa<llvm::LoadInst>(instruction)) ++counts.loads;
      if (llvm::isa<llvm::StoreInst>(instruction)) ++counts.stores;
      const auto* branch = llvm::dyn_cast<llvm::BranchInst>(&instruction);
      if (branch != nullptr && branch->isConditional()) ++counts.branches;
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      if (call == nullptr || call->getCalledFunction() == nullptr) continue;
      llvm::Function& callee = *call->getCalledFunction();
      if (callee.isIntrinsic()) {
        if (calls_math(callee.getIntrinsicID())) ++counts.math_calls;
        continue;
      }
      llvm::Function* definition = library.definition(callee);
      if (definition == nullptr) {
        ++counts.math_calls;
        continue;
      }
      const UdfCounts inner = count_udf(library, *definition);
      counts.instructions += inner.instructions;
      counts.loads += inner.loads;
      counts.stores += inner.stores;
      counts.branches += inner.branches;
      counts.math_calls += inner.math_calls;
      counts.loops |= inner.loops;
    }
  }
  llvm::SmallVector<std::pair<const llvm::BasicBlock*, const llvm::BasicBlock*>, 8> back_edges;
  llvm::FindFunctionBackedges(function, back_edges);
  counts.loops |= !back_edges.empty();
  return counts;
}

}  // namespace tailor::weft::workflow
