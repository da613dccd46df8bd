// LLVM's own pass pipeline, with the value tracker listening.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/native_lineage.h"
#include "compiler/llvm/sealed_module_state.h"

namespace tailor::jit {

// Runs the default pipeline of `level` on the module (none at O0). Afterwards every instruction has a
// location if one could be recorded or inferred.
void Optimise(SealedModule::State& sealed, llvm::TargetMachine& target, OptLevel level,
              ModuleLineage& lineage);

}  // namespace tailor::jit
