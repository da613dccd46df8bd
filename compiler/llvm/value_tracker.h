// Follows IR instructions through LLVM's optimisations.
//
// LLVM copies a debug location when it clones or moves an instruction, but tells nobody when one instruction
// comes to do the work of two. The tracker listens to every replacement: common subexpressions and merged
// code get the owners of both, fused instructions those of the parts, eliminated ones give theirs to nobody
// (Tailored Profiling, section 4.2.7 and Table 1).
#pragma once

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/Support/Allocator.h>

#include <memory>
#include <vector>

#include "compiler/llvm/line_code.h"
#include "compiler/llvm/native_lineage.h"

namespace llvm {
class Loop;
}

namespace tailor::jit {

// Lifecycle: construct before the first pass, attach() to the callbacks of the pass manager, finish() after
// the last pass. Between passes the debug locations and the tracker agree; within a pass the tracker is
// ahead. One thread.
class ValueTracker {
 public:
  // `lineage` receives the sets, and the time that tracking takes.
  ValueTracker(llvm::Module& module, ModuleLineage& lineage);
  ~ValueTracker();
  ValueTracker(const ValueTracker&) = delete;
  ValueTracker& operator=(const ValueTracker&) = delete;

  // The callbacks may outlive this, and may hear of other modules' passes.
  void attach(llvm::PassInstrumentationCallbacks& callbacks);

  // Repairs locations that are missing at the end: from the first user, an operand, a neighbour.
  void finish();

 private:
  class Handle;

  // What a pass has worked on.
  void sync_unit(const llvm::Any& unit);
  void sync(llvm::Function& function);
  void sync_loop(const llvm::Loop& loop);
  void sync_block(llvm::BasicBlock& block);
  Handle* handle_of(llvm::Instruction& instruction);
  void sync_location(llvm::Instruction& instruction, Handle& handle);
  void replaced(llvm::Instruction& before, llvm::Value* after);
  void deleted(Handle& handle);
  Handle& track(llvm::Instruction& instruction);
  tagging::Link fused_parts(llvm::Instruction& before, const llvm::Instruction& after) const;

  llvm::Module& module_;
  ModuleLineage& lineage_;
  llvm::DILocalScope* scope_;
  std::shared_ptr<char> alive_ = std::make_shared<char>();  // for callbacks that outlive this
  // Also of handles that are free, so that a holder of one can ask whose it is.
  llvm::SpecificBumpPtrAllocator<Handle> storage_;
  std::vector<Handle*> free_;
  llvm::DenseMap<const llvm::Instruction*, Handle*> handles_;
  // What stood in a block when it was last seen, in order. Most of it stands there still, and is recognised
  // without being looked up.
  llvm::DenseMap<const llvm::BasicBlock*, std::vector<Handle*>> seen_;
  std::vector<Handle*> standing_;  // of the block at hand
};

}  // namespace tailor::jit
