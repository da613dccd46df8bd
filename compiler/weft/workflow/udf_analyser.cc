#include "compiler/weft/workflow/udf_analyser.h"

#include <fmt/format.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <charconv>
#include <memory>
#include <string_view>
#include <utility>

#include "compiler/llvm/target_pool.h"
#include "compiler/weft/workflow/udf_check.h"

namespace tailor::weft::workflow {
namespace {

constexpr std::string_view kAnalysed = "analysed_";
constexpr const char* kVectoriser = "loop-vectorize";

// Takes what the vectoriser says of the functions that were added.
class RemarkReader final : public llvm::DiagnosticHandler {
 public:
  explicit RemarkReader(std::vector<UdfVerdict>& verdicts) : verdicts_(verdicts) {}

  bool handleDiagnostics(const llvm::DiagnosticInfo& info) override {
    const auto* remark = llvm::dyn_cast<llvm::DiagnosticInfoOptimizationBase>(&info);
    if (remark == nullptr || remark->getPassName() != kVectoriser) return true;
    const std::string_view name(remark->getFunction().getName().data(),
                                remark->getFunction().getName().size());
    std::size_t number = 0;
    if (!name.starts_with(kAnalysed)) return true;
    std::from_chars(name.data() + kAnalysed.size(), name.data() + name.size(), number);
    if (number >= verdicts_.size()) return true;
    UdfVerdict& verdict = verdicts_[number];
    // A function may have several loops; one that was vectorised says the most, then a reason why not. A loop
    // that is only interleaved is a success for LLVM, and has no vectors.
    if (verdict.vectorised || (remark->isMissed() && !verdict.said.empty())) return true;
    verdict.vectorised = remark->isPassed() && remark->getRemarkName() == "Vectorized";
    verdict.said = remark->getMsg();
    return true;
  }
  bool isAnalysisRemarkEnabled(llvm::StringRef pass) const override { return pass == kVectoriser; }
  bool isMissedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == kVectoriser; }
  bool isPassedOptRemarkEnabled(llvm::StringRef pass) const override { return pass == kVectoriser; }
  bool isAnyRemarkEnabled() const override { return true; }

 private:
  std::vector<UdfVerdict>& verdicts_;
};

llvm::Value* constant_of(llvm::Type* type, const Argument& argument) {
  const bool real = argument.kind == Argument::Kind::kReal;
  if (type->isFloatingPointTy())
    return llvm::ConstantFP::get(type, real ? argument.real : static_cast<double>(argument.integer));
  return llvm::ConstantInt::getSigned(type, argument.integer);
}

// base + index * values, in values of the type
llvm::Value* moved(jit::TrackedBuilder& ir, llvm::Type* type, llvm::Value* base, llvm::Value* index,
                   std::uint64_t values) {
  return ir.CreateInBoundsGEP(llvm::ArrayType::get(type, values), base, index);
}

}  // namespace

void UdfAnalyser::add(const std::string& key, llvm::Function& function, const SignatureSpec& signature) {
  if (!numbers_.emplace(key, verdicts_.size()).second) return;
  jit::TrackedBuilder& ir = module_.builder();
  const auto count = static_cast<unsigned>(signature.parameters.size());
  // An array for each parameter and one for the results, then the number of tuples.
  std::vector<llvm::Type*> types(count + 1, ir.getPtrTy());
  types.push_back(ir.getInt64Ty());
  auto* type = llvm::FunctionType::get(ir.getVoidTy(), types, false);
  llvm::Function* loop_function =
      module_.begin_function(fmt::format("{}{}", kAnalysed, verdicts_.size()), type);
  UdfVerdict& noted = verdicts_.emplace_back();
  for (unsigned i = 0; i <= count; ++i) loop_function->addParamAttr(i, llvm::Attribute::NoAlias);
  llvm::BasicBlock* entry = ir.GetInsertBlock();
  llvm::BasicBlock* loop = llvm::BasicBlock::Create(module_.context(), "loop", loop_function);
  ir.CreateBr(loop);
  ir.SetInsertPoint(loop);
  llvm::PHINode* index = ir.CreatePHI(ir.getInt64Ty(), 2, "index");
  index->addIncoming(ir.getInt64(0), entry);
  std::vector<llvm::Value*> arguments;
  for (unsigned i = 0; i < count; ++i) {
    const ParameterSpec& parameter = signature.parameters[i];
    if (parameter.is_streamed) {
      const bool stored = parameter.kind == ParameterSpec::Kind::kWritable;
      const std::uint64_t values = std::max<std::uint64_t>(parameter.stride, 1);
      (stored ? noted.stored_bytes : noted.loaded_bytes) += values * scalar_bytes(parameter.scalar);
    }
    llvm::Type* scalar = llvm_type(parameter.scalar, module_.context());
    llvm::Value* base = loop_function->getArg(i);
    if (parameter.kind == ParameterSpec::Kind::kConstant) {
      arguments.push_back(constant_of(function.getFunctionType()->getParamType(i), parameter.argument));
    } else if (parameter.kind == ParameterSpec::Kind::kRow) {
      arguments.push_back(index);
    } else if (parameter.kind == ParameterSpec::Kind::kValue) {
      arguments.push_back(ir.CreateLoad(scalar, moved(ir, scalar, base, index, 1)));
    } else {
      arguments.push_back(parameter.stride == 0 ? base : moved(ir, scalar, base, index, parameter.stride));
    }
  }
  llvm::Value* value = inliner_.call(function, arguments);
  if (value != nullptr) {
    if (value->getType()->isIntegerTy(1)) value = ir.CreateZExt(value, ir.getInt8Ty());
    ir.CreateStore(value, moved(ir, value->getType(), loop_function->getArg(count), index, 1));
  }
  llvm::Value* next = ir.CreateNUWAdd(index, ir.getInt64(1));
  index->addIncoming(next, ir.GetInsertBlock());
  llvm::BasicBlock* end = llvm::BasicBlock::Create(module_.context(), "end", loop_function);
  ir.CreateCondBr(ir.CreateICmpULT(next, loop_function->getArg(count + 1)), loop, end);
  ir.SetInsertPoint(end);
  ir.CreateRetVoid();
}

Status UdfAnalyser::run() {
  auto pool = jit::TargetPool::create();
  if (!pool.ok()) return pool.error();
  auto target = (*pool)->take(jit::OptLevel::kO2);
  if (!target.ok()) return target.error();
  llvm::Module& module = module_.module();
  module.setDataLayout((*target)->createDataLayout());
  module.setTargetTriple((*target)->getTargetTriple().str());
  module_.context().setDiagnosticHandler(std::make_unique<RemarkReader>(verdicts_));
  {
    llvm::PassBuilder builder(target->get());
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2).run(module, modules);
    module_.context().setDiagnosticHandler(std::make_unique<llvm::DiagnosticHandler>());
    cpu_ = (*target)->getTargetCPU().str();
    auto cycles = jit::predict_loops(module, **target, functions);
    if (!cycles.ok()) return cycles.error();
    for (std::size_t i = 0; i < verdicts_.size(); ++i)
      verdicts_[i].cycles = std::move((*cycles)[fmt::format("{}{}", kAnalysed, i)]);
  }
  return Ok{};
}

const UdfVerdict* UdfAnalyser::verdict(const std::string& key) const {
  const auto found = numbers_.find(key);
  return found == numbers_.end() ? nullptr : &verdicts_[found->second];
}

}  // namespace tailor::weft::workflow
