// Code generation for one plan: the two lowering steps of Tailored Profiling (section 5.1), operators to
// pipelines of tasks and tasks to LLVM IR, in one pass of produce and consume (Neumann, "Efficiently
// compiling efficient query plans for modern hardware", VLDB 2011).
//
// This class is the single place through which produce, consume and tasks are entered, so it is the only one
// that moves the abstraction trackers. Operators (one Translator each) generate code through it and do not
// know that they are profiled.
//
// Lifecycle: construct, run() once, take the program. The module is sealed and compiled by the caller.
#pragma once

#include <llvm/IR/Function.h>

#include <memory>
#include <string>
#include <vector>

#include "compiler/llvm/query_module.h"
#include "compiler/tagging/lowering_step.h"
#include "compiler/weft/codegen/program.h"
#include "compiler/weft/codegen/row_layout.h"
#include "compiler/weft/codegen/value_scopes.h"
#include "compiler/weft/storage/database.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft {

class Translator;

// Names memory for the profiler: gives the kind of region that an operator's memory is.
using DeclareRegion = std::function<RegionKind(const std::string& name, std::uint32_t role,
                                               ComponentId operator_id, std::uint32_t element_bytes)>;

// Of an operator that is in no tree: its number is taken all the same.
inline constexpr const char* kUnusedKind = "unused";

class Compilation {
 public:
  struct Options {
    const Database* database = nullptr;  // where the plan's tables are stored
    bool instrument = false;
    bool count_rows = false;
    DeclareRegion declare_region;
  };

  // `dictionary` has the levels operator, task, ir and no components yet. All must outlive the compilation.
  Compilation(const Plan& plan, tagging::DictionaryBuilder& dictionary, jit::QueryModule& module,
              Options options);
  ~Compilation();

  // Generates everything.
  Program run();

  // ---- for translators -----------------------------------------------------------------------------------

  jit::QueryModule& module() { return module_; }
  jit::TrackedBuilder& ir() { return module_.builder(); }
  ValueScopes& values() { return values_; }
  const Database& database() const { return *options_.database; }
  StateLayout& shared() { return program_.shared; }
  StateLayout& local() { return program_.local; }
  Program& program() { return program_; }

  // Asks an input for its tuples.
  void produce(Translator& translator);
  // Hands the tuple whose values are bound to the consumer of `from`.
  void consume(Translator& from);
  // Registers a task of the active operator.
  ComponentId add_task(std::string name, std::string kind, std::vector<tagging::Attribute> attributes = {});
  // Tells the profiler what a task does with memory: in the pipeline whose function is being generated, else
  // at the end of the one that is open.
  void add_access(ComponentId task, v1::Access access);
  // Generates code on behalf of a task.
  void run_task(ComponentId task, const std::function<void()>& generate);

  // A pipeline is open from begin_pipeline until end_pipeline; the one that was open before is suspended.
  void begin_pipeline(std::string name);
  // Called by the operator in which it ends. What `finish` describes runs after the pipeline.
  void end_pipeline(std::vector<FinishStep> finish);
  // Called by the operator that is the pipeline's source: makes its function and generates `body(begin, end)`
  // in it. A pipeline with a second source (an outer join's rows without a match) becomes two.
  void generate_source(ComponentId task, std::function<std::uint64_t(const Frame&)> tuples,
                       std::uint64_t morsel, bool sequential,
                       const std::function<void(llvm::Value* begin, llvm::Value* end)>& body);
  // Code at the start or end of every function of the open pipeline, on behalf of a task.
  void at_function_begin(ComponentId task, std::function<void()> generate);
  void at_function_end(ComponentId task, std::function<void()> generate);
  FinishStep finish(ComponentId operator_id, ComponentId task) { return {operator_id, task, {}, {}, {}}; }

  // Pointers to objects of the state, in the function being generated.
  llvm::Value* shared_pointer(std::size_t offset);
  llvm::Value* local_pointer(std::size_t offset);

  // A call of a runtime function on behalf of the active task.
  llvm::CallInst* call(const std::string& name, llvm::Type* result, llvm::ArrayRef<llvm::Value*> arguments);

  RegionKind region(const std::string& name, std::uint32_t role, ComponentId operator_id,
                    std::uint32_t element_bytes);

 private:
  struct Hook {
    ComponentId task;
    std::function<void()> generate;
  };
  struct OpenPipeline {
    std::string name;
    std::vector<Hook> begin;
    std::vector<Hook> end;
    std::vector<std::uint32_t> depends_on;
    std::size_t last_program = 0;  // index + 1 of the pipeline program made last
  };

  void describe_operators();
  // Id of the pipeline whose function is being generated, else of the last of the one that is open.
  std::uint32_t pipeline_here() const;
  std::unique_ptr<Translator> make_translator(const Operator& op, Translator* parent, std::uint32_t input);
  void run_hooks(const std::vector<Hook>& hooks);
  // Instrumented code: charges the time since the last call to `task`, less what a reading of the counter
  // costs.
  void charge_time(ComponentId task);
  // Code that counts rows: one more of this operator.
  void count_row(ComponentId operator_id);

  const Plan& plan_;
  tagging::DictionaryBuilder& dictionary_;
  jit::QueryModule& module_;
  Options options_;
  tagging::LoweringStep to_tasks_;
  ValueScopes values_;
  Program program_;
  std::vector<std::unique_ptr<Translator>> translators_;
  std::vector<OpenPipeline> open_;
  std::uint32_t current_pipeline_ = 0;      // id of the one whose function is being generated
  std::vector<ComponentId> current_tasks_;  // that it has already
  std::vector<ComponentId> task_stack_;
  llvm::Value* shared_argument_ = nullptr;
  llvm::Value* local_argument_ = nullptr;
  llvm::AllocaInst* last_cycles_ = nullptr;
  std::uint64_t cost_of_reading_ = 0;
};

}  // namespace tailor::weft
