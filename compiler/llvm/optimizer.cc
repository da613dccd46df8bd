#include "compiler/llvm/optimizer.h"

#include <llvm/Passes/PassBuilder.h>

#include <optional>

#include "compiler/llvm/value_tracker.h"

namespace tailor::jit {
namespace {

llvm::OptimizationLevel llvm_level(OptLevel level) {
  switch (level) {
    case OptLevel::kO0:
      return llvm::OptimizationLevel::O0;
    case OptLevel::kO1:
      return llvm::OptimizationLevel::O1;
    case OptLevel::kO2:
      return llvm::OptimizationLevel::O2;
    case OptLevel::kO3:
      return llvm::OptimizationLevel::O3;
  }
  return llvm::OptimizationLevel::O2;
}

}  // namespace

void optimise(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel level,
              ModuleLineage& lineage) {
  optimise_with(sealed, target, level, lineage, [](llvm::PassBuilder&) {});
}

void optimise_with(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel level,
                   ModuleLineage& lineage, const std::function<void(llvm::PassBuilder&)>& extend) {
  if (level == OptLevel::kO0) return;
  llvm::PassInstrumentationCallbacks callbacks;
  std::optional<ValueTracker> tracker;
  if (sealed.lineage) tracker.emplace(*sealed.module, lineage).attach(callbacks);

  llvm::PassBuilder builder(&target, llvm::PipelineTuningOptions(), std::nullopt, &callbacks);
  extend(builder);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  builder.buildPerModuleDefaultPipeline(llvm_level(level)).run(*sealed.module, modules);
  if (tracker) tracker->finish();
}

}  // namespace tailor::jit
