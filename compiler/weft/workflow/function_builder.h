// Builds one generated function of a workflow: its blocks, its pointers, and the calls that stand in it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/llvm/query_module.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/weft/workflow/udf_inliner.h"
#include "compiler/weft/workflow/workflow.h"
#include "compiler/weft/workflow/workflow_program.h"

namespace tailor::weft::workflow {

// Thrown within this folder's code generation, and caught by lower_workflow().
struct LoweringFailure {
  Error error;
};

// A field of the tuple at hand: an array has a pointer, anything else a value.
struct FieldValue {
  llvm::Value* value = nullptr;
};

// Not thread-safe. One after the other: begin(), generate, end().
class FunctionBuilder {
 public:
  // All outlive the builder.
  FunctionBuilder(const Workflow& workflow, const WorkflowProgram& program, jit::QueryModule& module,
                  tagging::DictionaryBuilder& dictionary, UdfInliner& inliner)
      : workflow_(workflow), program_(program), module_(module), dictionary_(dictionary), inliner_(inliner) {}

  jit::TrackedBuilder& ir() { return module_.builder(); }

  // A function of the shape of weft's pipelines, void(shared, local, begin, end), of this pipeline of the
  // dictionary. `source` is the task that runs its loop; it stays active until end().
  void begin(const std::string& name, std::uint32_t pipeline, ComponentId source);
  // Throws LoweringFailure if what was inlined needs more stack than a thread should give.
  void end(Place place);
  llvm::Value* argument(unsigned index) const { return function_->getArg(index); }

  // Generates on behalf of a task of the pipeline.
  void run_task(ComponentId task, const std::function<void()>& generate);

  // for (i = begin; i < end; ++i) body(i), with i of type i64
  void count_loop(llvm::Value* begin, llvm::Value* end, const std::function<void(llvm::Value*)>& body);
  // for (i = first; i != 0; i = links[i - 1]) body(i - 1): the rows of a chain (join_index.h)
  void chain_loop(llvm::Value* first, llvm::Value* links, const std::function<void(llvm::Value*)>& body);
  void when(llvm::Value* condition, const std::function<void()>& then);
  // A call of a runtime function on behalf of the active task.
  void call_runtime(const char* name, llvm::ArrayRef<llvm::Value*> arguments);

  llvm::Type* type_of(Scalar scalar);
  // Pointers that the function loads at its start, on behalf of its source.
  llvm::Value* column(std::uint32_t input, std::uint32_t field);
  llvm::Value* context(std::uint32_t index);
  // A pointer or, of type `type`, a number that the shared block has at this offset.
  llvm::Value* shared_pointer(std::size_t offset);
  llvm::Value* shared_value(llvm::Type* type, std::size_t offset);
  // Where the shared block has it.
  llvm::Value* shared_word(std::size_t offset);
  // base + index * bytes
  llvm::Value* element(llvm::Value* base, llvm::Value* index, std::uint64_t bytes);
  // Memory on the stack for `values` values.
  llvm::Value* variable(Scalar scalar, std::uint64_t values, const std::string& name);
  // A whole number as i64.
  llvm::Value* widened(llvm::Value* whole);
  // Whether a function said true.
  llvm::Value* truth(llvm::Value* said);

  // The arguments of `call` as `function` takes them, whose parameter `first` is the first of them. Contexts
  // among `changed` are pointers. Throws LoweringFailure if a constant does not fit its parameter.
  std::vector<llvm::Value*> arguments(const llvm::Function& function, unsigned first, const Call& call,
                                      const std::vector<std::uint32_t>& changed,
                                      const std::vector<FieldValue>& fields);

 private:
  // Tells LLVM that the columns and contexts are different memory, wherever it is clear whose a pointer is.
  void mark_distinct_memory();
  llvm::Value* constant(llvm::Type* type, const Argument& argument);
  llvm::Value* loaded_at_start(llvm::Type* type, llvm::Value* block, std::size_t offset,
                               const std::string& name);
  llvm::BasicBlock* new_block(const char* name);

  const Workflow& workflow_;
  const WorkflowProgram& program_;
  jit::QueryModule& module_;
  tagging::DictionaryBuilder& dictionary_;
  UdfInliner& inliner_;
  llvm::Function* function_ = nullptr;
  llvm::BranchInst* start_end_ = nullptr;  // what the block of loaded pointers ends with
  std::uint32_t pipeline_ = 0;
  ComponentId source_ = kNoComponent;
  std::vector<ComponentId> tasks_;  // that the pipeline has already
  std::optional<tagging::AbstractionTracker::Scope> source_scope_;
  std::uint64_t stack_bytes_ = 0;
  std::vector<std::vector<llvm::Value*>> columns_;
  std::vector<llvm::Value*> contexts_;
  std::map<std::size_t, llvm::Value*> shared_values_;  // by offset
};

}  // namespace tailor::weft::workflow
