// Puts the code of users' functions into the loop that calls them.
//
// LLVM's own inliner would do it later, and would have to be believed: whether a call was inlined, and whose
// the code is afterwards. Here each instruction is copied by the tracked builder, so it has the owner of its
// call from the start, like every instruction of a weft query (Tailored Profiling, EuroSys 2021,
// section 4.2.1). Functions that a function calls come along, and belong to the same owner.
#pragma once

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <cstdint>

#include "compiler/llvm/query_module.h"
#include "compiler/weft/workflow/udf_library.h"

namespace tailor::weft::workflow {

// Not thread-safe. The functions have passed check_udfs().
class UdfInliner {
 public:
  // The library's context is that of the module. Both outlive the inliner.
  UdfInliner(jit::QueryModule& module, const UdfLibrary& library) : module_(module), library_(library) {}

  // Copies `function` to where the builder stands, at the end of a block, and leaves the builder behind it.
  // All of it belongs to the active task. Returns the value of the call; nullptr if it has none.
  llvm::Value* call(llvm::Function& function, llvm::ArrayRef<llvm::Value*> arguments);

  // Bytes of stack that the copies need, in the function that the builder stands in, since the last reset.
  std::uint64_t stack_bytes() const { return stack_bytes_; }
  void reset_stack() { stack_bytes_ = 0; }

 private:
  class Copy;

  jit::QueryModule& module_;
  const UdfLibrary& library_;
  llvm::ValueToValueMapTy globals_;  // constants of the library that the module has already
  std::uint64_t stack_bytes_ = 0;
};

}  // namespace tailor::weft::workflow
