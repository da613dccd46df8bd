// An LLVM module whose instructions are linked to the task that generated them.
//
// The code generator of an engine uses builder() like any IRBuilder, and does not know that it is profiled.
// The one place that calls consume enters the active task:
//
//   tagging::DictionaryBuilder plan("tpch-6", {"operator", "task", "ir"});
//   ...                                        // operators and tasks are added to the plan
//   QueryModule module(plan, {.name = "q6", .tags = TagStrategy::kR15, .make_tag = ...});
//   llvm::Function* f = module.begin_function("pipeline1", type);
//   {
//     auto scope = module.tasks().enter(probe);
//     llvm::Value* hash = module.builder().CreateMul(key, constant);
//     auto lookup = module.declare_shared("rt_lookup", lookup_type);
//     llvm::Value* entry = module.call_shared(lookup, {table, hash});
//   }
//   module.builder().CreateRetVoid();
//   auto sealed = module.seal();               // the plan now has the IR level and its listing
//   auto code = jit.compile(std::move(*sealed), {.level = OptLevel::kO2});   // compiler/llvm/jit.h
//
// Component n of the IR level is line n of the plan's attachment "ir". Lines that are no instruction (the
// heading of a function, the label of a block) have no owner and no cost of their own. An annotated listing
// shows the sums of blocks at them.
//
// The namespace is not tailor::llvm because that name would hide ::llvm in all of tailor.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "compiler/llvm/deprecated_ir_names.h"
#include "compiler/llvm/instruction_log.h"
#include "compiler/llvm/query_module_options.h"
#include "compiler/llvm/sealed_module.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/tagging/abstraction_tracker.h"
#include "compiler/tagging/dictionary_builder.h"
#include "proto/base/result.h"

namespace tailor::jit {

// Not thread-safe. Uses the two lowest levels of the plan: tasks (or whatever the level above the lowest is)
// and IR. `plan` outlives the module; several modules may be sealed into one plan.
class QueryModule : public DeprecatedModuleNames<QueryModule> {
 public:
  QueryModule(tagging::DictionaryBuilder& plan, QueryModuleOptions options);
  ~QueryModule();
  QueryModule(const QueryModule&) = delete;
  QueryModule& operator=(const QueryModule&) = delete;

  llvm::LLVMContext& context() { return *context_; }
  llvm::Module& module() { return *module_; }
  // Everything inserted through it is linked to the active task.
  TrackedBuilder& builder() { return *builder_; }
  TagStrategy tags() const { return options_.tags; }
  // Which task generates code right now.
  tagging::AbstractionTracker& tasks() { return tasks_; }

  // A new function with external linkage and an empty block "entry", where the builder stands afterwards.
  // Functions may be built in turns: move the builder's insertion point as you like.
  llvm::Function* begin_function(const std::string& name, llvm::FunctionType* type);

  // A stack variable in the entry block of the function in which the builder stands.
  llvm::AllocaInst* create_entry_alloca(llvm::Type* type, const llvm::Twine& name = "");

  // A function of the runtime that several tasks share. It keeps the tag where the strategy says, and must
  // not be declared free of side effects (its call would move away from its tag; such attributes are
  // dropped). With kSwiftSelf the real function has one more argument, at the end, that it ignores.
  llvm::FunctionCallee declare_shared(const std::string& name, llvm::FunctionType* type);
  // Calls it on behalf of the active task: sets the tag, calls, and puts back what the tag was when the
  // function that the builder stands in was entered. With several active tasks the first one's tag is used.
  llvm::CallInst* call_shared(llvm::FunctionCallee callee, llvm::ArrayRef<llvm::Value*> args,
                              const llvm::Twine& name = "");
  // For landing pads: the unwinder leaves the tag of the call that threw; this puts back the caller's.
  void restore_tag();

  // kMemorySlot: where the calling thread's slot is (the value of tailor_thread_slot()), for the function
  // that the builder stands in. Must be set before its first call_shared; the value must dominate all of
  // them.
  void set_slot(llvm::Value* slot);

  // Ends building: gives every instruction its id, writes links and listing into the plan, and hands the
  // module over. Errors: the module is not valid IR (the message is LLVM's verifier's). Call once.
  Result<SealedModule> seal();

 private:
  std::uint64_t active_tag() const;
  FunctionTags& current_function();
  llvm::Value* entry_tag(FunctionTags& function);

  tagging::DictionaryBuilder& plan_;
  QueryModuleOptions options_;
  std::unique_ptr<llvm::LLVMContext> context_;
  std::unique_ptr<llvm::Module> module_;
  tagging::AbstractionTracker tasks_;
  InstructionLog log_;
  std::unique_ptr<TrackedBuilder> builder_;
  llvm::DenseMap<const llvm::Function*, FunctionTags> functions_;
};

}  // namespace tailor::jit
