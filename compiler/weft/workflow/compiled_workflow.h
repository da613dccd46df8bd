// A workflow as machine code, ready to be run any number of times.
#pragma once

#include <tailor/agent.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "compiler/llvm/jit.h"
#include "compiler/llvm/tag_strategy.h"
#include "compiler/tagging/dictionary_builder.h"
#include "compiler/weft/exec/compiled_query.h"
#include "compiler/weft/workflow/udf_library.h"
#include "compiler/weft/workflow/workflow.h"
#include "compiler/weft/workflow/workflow_program.h"
#include "proto/base/result.h"

namespace tailor::weft::workflow {

struct WorkflowSettings {
  jit::OptLevel level = jit::OptLevel::kO2;
  jit::TagStrategy tags = jit::TagStrategy::kR15;
  bool lineage = true;
  CodeObserver* observer = nullptr;  // told of the code before it runs; outlives the workflow
};

// Milliseconds.
struct WorkflowTimes {
  double generate = 0, compile = 0;
};

// Immutable once made. Its end unloads code and plan: no run may go on then.
class CompiledWorkflow {
 public:
  // `jit` knows workflow_symbols(), and outlives the workflow. Errors, with file and line: a function that is
  // not there, does not fit its operator or does what it may not; the compiler's own errors.
  static Result<std::unique_ptr<CompiledWorkflow>> make(Workflow workflow, std::vector<UdfImage> images,
                                                        jit::Jit& jit, const WorkflowSettings& settings);
  ~CompiledWorkflow();
  CompiledWorkflow(const CompiledWorkflow&) = delete;
  CompiledWorkflow& operator=(const CompiledWorkflow&) = delete;

  const Workflow& workflow() const { return workflow_; }
  const WorkflowProgram& program() const { return program_; }
  // Operators, users' functions and IR instructions, as the profiler was told.
  const tagging::DictionaryBuilder& dictionary() const { return dictionary_; }
  const jit::CompiledModule& code() const { return *code_; }
  const tailor_plan_ids& ids() const { return ids_; }
  const WorkflowTimes& times() const { return times_; }
  // The same workflow without tags, for runs that shall have none: compiled when it is first asked for. A
  // plan of its own. Any thread; waits while another compiles it.
  Result<const CompiledWorkflow*> without_tags() const;
  // As <tailor/tag_scope.h> wants it.
  std::uint32_t tag_strategy() const { return static_cast<std::uint32_t>(settings_.tags); }
  // 0 without tags. A task of 0 names the operator alone.
  std::uint64_t tag(ComponentId operator_id, ComponentId task) const;

 private:
  CompiledWorkflow(Workflow workflow, std::vector<UdfImage> images, jit::Jit& jit,
                   const WorkflowSettings& settings)
      : workflow_(std::move(workflow)),
        images_(std::move(images)),
        jit_(jit),
        settings_(settings),
        dictionary_(workflow_.name, {"operator", "udf", "ir"}) {}
  Status generate();
  Status announce_code();

  Workflow workflow_;
  std::vector<UdfImage> images_;
  jit::Jit& jit_;
  WorkflowSettings settings_;
  tagging::DictionaryBuilder dictionary_;
  WorkflowProgram program_;
  std::unique_ptr<jit::CompiledModule> code_;
  std::uint64_t code_id_ = 0;
  tailor_plan_ids ids_{};
  WorkflowTimes times_;
  mutable std::mutex untagged_mutex_;
  mutable std::unique_ptr<CompiledWorkflow> untagged_;  // nullptr: nobody asked for it
};

}  // namespace tailor::weft::workflow
