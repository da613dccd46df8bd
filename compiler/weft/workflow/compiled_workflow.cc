#include "compiler/weft/workflow/compiled_workflow.h"

#include <optional>

#include "compiler/llvm/query_module.h"
#include "compiler/llvm/stopwatch.h"
#include "compiler/weft/exec/components.h"
#include "compiler/weft/workflow/lowering.h"
#include "compiler/weft/workflow/udf_check.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::weft::workflow {

Result<std::unique_ptr<CompiledWorkflow>> CompiledWorkflow::make(Workflow workflow,
                                                                 std::vector<UdfImage> images, jit::Jit& jit,
                                                                 const WorkflowSettings& settings) {
  std::unique_ptr<CompiledWorkflow> made(
      new CompiledWorkflow(std::move(workflow), std::move(images), jit, settings));
  if (Status status = made->generate(); !status.ok()) return std::move(status).error();
  return made;
}

Result<const CompiledWorkflow*> CompiledWorkflow::without_tags() const {
  if (settings_.tags == jit::TagStrategy::kNone) return this;
  const std::lock_guard lock(untagged_mutex_);
  if (untagged_ == nullptr) {
    WorkflowSettings settings = settings_;
    settings.tags = jit::TagStrategy::kNone;
    auto made = make(workflow_, images_, jit_, settings);
    if (!made.ok()) return std::move(made).error();
    untagged_ = std::move(*made);
  }
  return static_cast<const CompiledWorkflow*>(untagged_.get());
}

Status CompiledWorkflow::generate() {
  ids_ = tailor_plan_new();
  jit::QueryModuleOptions options;
  options.name = workflow_.name;
  options.tags = settings_.tags;
  options.lineage = settings_.lineage;
  options.make_tag = [this](ComponentId upper, ComponentId lower) { return tailor_tag(&ids_, upper, lower); };
  jit::QueryModule module(dictionary_, options);
  {
    const WorkScope work(EngineWork::kGenerate);
    const jit::StopwatchAdd time(times_.generate);
    // Its modules are of the context that goes away with the sealed module, so it must end before.
    auto library = UdfLibrary::load(workflow_.file, images_, module.context());
    if (!library.ok()) return library.error();
    if (Status checked = check_udfs(workflow_, *library); !checked.ok()) return checked;
    library->prepare();
    auto program = lower_workflow(workflow_, *library, dictionary_, module);
    if (!program.ok()) return program.error();
    program_ = std::move(*program);
  }
  auto sealed = module.seal();
  if (!sealed.ok()) return sealed.error();
  if (ids_.id != 0) {
    const WorkScope work(EngineWork::kRegister);
    dictionary_.attach("workflow", workflow_.text);
    const std::string plan = dictionary_.serialise({ids_.id, ids_.slot, ids_.generation});
    tailor_plan_load(ids_.id, plan.data(), plan.size());
  }
  const WorkScope work(EngineWork::kCompile);
  const jit::StopwatchAdd time(times_.compile);
  auto compiled = jit_.compile(std::move(*sealed), {.level = settings_.level});
  if (!compiled.ok()) return compiled.error();
  code_ = std::move(*compiled);
  return announce_code();
}

Status CompiledWorkflow::announce_code() {
  code_id_ = tailor_code_new();
  if (code_id_ == 0 && settings_.observer == nullptr) return Ok{};
  const std::string object = code_->code_object(code_id_, ids_.id);
  if (code_id_ != 0) tailor_code_load(code_id_, object.data(), object.size());
  v1::CodeObject loaded;
  if (settings_.observer != nullptr && loaded.ParseFromString(object))
    settings_.observer->loaded(dictionary_.build({ids_.id, ids_.slot, ids_.generation}), loaded);
  return Ok{};
}

std::uint64_t CompiledWorkflow::tag(ComponentId operator_id, ComponentId task) const {
  if (settings_.tags == jit::TagStrategy::kNone) return 0;
  return tailor_tag(&ids_, operator_id, task);
}

CompiledWorkflow::~CompiledWorkflow() {
  if (code_ != nullptr) tailor_code_unload(code_id_);
  tailor_plan_unload(ids_.id);
}

}  // namespace tailor::weft::workflow
