// Lineage for an engine that builds, optimises and compiles its LLVM modules itself: with its own IRBuilder,
// its own pass pipeline and its own JIT. QueryModule and Jit are for engines that have none of these.
//
//   auto lineage = std::make_shared<EngineModule>(plan);
//   using Builder = llvm::IRBuilder<llvm::ConstantFolder, EngineInserter>;
//   Builder builder(context, llvm::ConstantFolder(), lineage->inserter());
//   {
//     auto scope = lineage->tasks().enter(probe);  // in the one place that calls consume
//     builder.CreateAdd(...);                      // linked to the task
//   }
//   lineage->begin(module);                        // the module is built: now the plan has the IR level
//   lineage->observe(pass_builder);                // before the passes run
//   ... the engine's passes ...
//   auto object = lineage->emit(target);           // instead of the target machine's addPassesToEmitFile
//
// In ORC, the compiler of EngineLineage (compiler/llvm/engine_lineage.h) does the last step, and hears what
// becomes of the object.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/PassInstrumentation.h>
#include <llvm/IR/ValueHandle.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Target/TargetMachine.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "compiler/llvm/instruction_log.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/tagging/abstraction_tracker.h"
#include "compiler/tagging/dictionary_builder.h"
#include "proto/base/result.h"

namespace tailor::jit {

// The owners of instructions, in a module where others than our inserter insert and erase too. It follows
// each instruction until it is erased, so a later instruction at the same address does not inherit an owner.
class EngineLog {
 public:
  explicit EngineLog(const tagging::AbstractionTracker& tasks) : tasks_(tasks) {}
  // `instruction` belongs to what is active now.
  void record(llvm::Instruction* instruction) { record(instruction, tasks_.active()); }
  // It belongs to `owners`.
  void record(llvm::Instruction* instruction, std::span<const ComponentId> owners) {
    if (!owners.empty())
      entries_.emplace_back(instruction, std::vector<ComponentId>(owners.begin(), owners.end()));
  }
  // Enters what is still there into `log`, and forgets it.
  void move_to(InstructionLog& log);

 private:
  const tagging::AbstractionTracker& tasks_;
  std::deque<std::pair<llvm::WeakVH, std::vector<ComponentId>>> entries_;
};

using EngineInserter = RecordingInserter<EngineLog>;

struct EngineModuleOptions {
  // Where the engine's code keeps the tag around its calls of shared functions, which it emits by
  // compiler/llvm/tag_code.h. Register strategies need a machine pass, which emit() adds.
  TagStrategy tags = TagStrategy::kNone;
  // As in QueryModuleOptions: for the calls that LLVM inserts itself (memcpy, memset).
  std::function<std::uint64_t(ComponentId upper, ComponentId lower)> make_tag = nullptr;
};

// An object file and what its code descends from. Both can be kept, and linked again by another process.
struct EngineObject {
  std::unique_ptr<llvm::MemoryBuffer> object;  // its name is unique in this process
  std::string lineage;                         // for EngineLineage::expect(), or lineage_of()
};

// One module. Not thread-safe. The module stays where it is, and alive, until emit() returns or this ends: a
// copy has no lineage.
class EngineModule {
 public:
  // The two lowest levels of the plan are used, as by QueryModule. `plan` outlives this until begin().
  explicit EngineModule(tagging::DictionaryBuilder& plan, EngineModuleOptions options = {});
  ~EngineModule();
  EngineModule(const EngineModule&) = delete;
  EngineModule& operator=(const EngineModule&) = delete;

  // Which task generates code right now.
  tagging::AbstractionTracker& tasks() { return tasks_; }
  // For the engine's builder: links what is inserted to the active tasks.
  EngineInserter inserter() { return EngineInserter(&log_); }

  // Ends building, before the first pass: gives every instruction its id, in place of its debug location, and
  // writes links and listing into the plan. The engine's own debug information is removed from the module.
  // Errors: the module is not valid IR; begin() was called before.
  Status begin(llvm::Module& module);
  // The same where no inserter was used: the line of each debug location is the id of a component of the
  // level above the lowest. Errors: also a line that is no such component.
  Status begin_from_locations(llvm::Module& module);

  // Follows instructions through the passes that run with these callbacks. Without it less is known of what
  // passes merge and move, and more rows are inferred. Errors: begin() was not called, or failed.
  Status observe(llvm::PassInstrumentationCallbacks& callbacks);
  // The callbacks of a pass builder. Errors: also a pass builder that was made without callbacks.
  Status observe(llvm::PassBuilder& builder);

  // Compiles the module for the engine's target machine. The passes are over. Once. Errors: LLVM's; code
  // outside of .text; a data layout that is not the target's.
  Result<EngineObject> emit(llvm::TargetMachine& target);

 private:
  friend class EngineLineage;
  struct State;
  Status number(llvm::Module& module, EngineLog& log);
  // Whether the module was begun, and is not compiled.
  bool begun() const;
  // Whether it is this very module.
  bool is_of(const llvm::Module& module) const;

  tagging::DictionaryBuilder& plan_;
  EngineModuleOptions options_;
  tagging::AbstractionTracker tasks_;
  EngineLog log_;
  std::unique_ptr<State> state_;
};

// The rows of an object that was kept. Errors: `lineage` is damaged, or belongs to another object.
Result<tailor::v1::RowTable> lineage_of(llvm::MemoryBufferRef object, const std::string& lineage);

}  // namespace tailor::jit
