// LLVM's own pass pipeline, with the value tracker listening.
#pragma once

#include <llvm/Passes/PassBuilder.h>
#include <llvm/Target/TargetMachine.h>

#include <functional>

#include "compiler/llvm/compile_options.h"
#include "compiler/llvm/native_lineage.h"
#include "compiler/llvm/sealed_module_state.h"

namespace tailor::jit {

// Runs the default pipeline of `level` on the module (none at O0). Afterwards every instruction has a
// location if one could be recorded or inferred.
void optimise(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel level,
              ModuleLineage& lineage);

// The same with whatever `extend` adds to LLVM's pipeline.
void optimise_with(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel level,
                   ModuleLineage& lineage, const std::function<void(llvm::PassBuilder&)>& extend);

}  // namespace tailor::jit
