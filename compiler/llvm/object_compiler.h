// From optimised IR to an object file in memory and the rows of its code.
#pragma once

#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "compiler/llvm/native_lineage.h"
#include "compiler/llvm/sealed_module_state.h"
#include "proto/base/result.h"

namespace tailor::jit {

struct CompiledObject {
  std::unique_ptr<llvm::MemoryBuffer> object;
  tagging::RowTableBuilder rows;   // offsets from the first byte of the code
  std::set<std::string> untagged;  // see create_tag_register_pass
};

// Where code lies: one section of the object. The large code model, which JITs have by default on top of
// RuntimeDyld, gives it another name.
inline bool is_code_section(llvm::StringRef name) {
  return name == ".text" || name == ".ltext";
}

// Compiles the module in `sealed`; `target` is used by this thread alone. `lineage` holds the sets that
// optimisation has made. Errors: LLVM cannot emit objects for the target.
Result<CompiledObject> compile_object(SealedModule::State& sealed, llvm::TargetMachine& target,
                                      ModuleLineage& lineage);

}  // namespace tailor::jit
