#include "compiler/weft/tool/workflow_command.h"

#include <fmt/format.h>

#include <iostream>

#include "compiler/weft/exec/components.h"
#include "compiler/weft/tool/analyze_workflow.h"
#include "compiler/weft/tool/levels.h"
#include "compiler/weft/tool/workflow_text.h"
#include "compiler/weft/workflow/explain_workflow.h"
#include "compiler/weft/workflow/host_speed.h"
#include "compiler/weft/workflow/workflow_library.h"
#include "compiler/weft/workflow/workflow_run.h"

namespace tailor::weft {
namespace {

struct LoadedWorkflow {
  workflow::OpenedWorkflow opened;
  std::vector<workflow::UdfImage> images;
};

Result<LoadedWorkflow> load_workflow(const CommandLine& command) {
  LoadedWorkflow loaded;
  {
    const WorkScope work(EngineWork::kParse);
    auto opened = workflow::open_workflow(command.workflow.file, command.workflow.settings);
    if (!opened.ok()) return std::move(opened).error();
    loaded.opened = std::move(*opened);
  }
  const WorkScope work(EngineWork::kCompile);
  auto images = workflow::load_images(loaded.opened.workflow, loaded.opened.files, command.workflow.clang);
  if (!images.ok()) return std::move(images).error();
  loaded.images = std::move(*images);
  return loaded;
}

// Keeps the code that it is told of.
struct SeenWorkflowCode final : CodeObserver {
  v1::Plan plan;
  v1::CodeObject code;
  void loaded(const v1::Plan& described, const v1::CodeObject& object) override {
    plan = described;
    code = object;
  }
};

void print_outcome(const workflow::RunOutcome& outcome, const std::string& name, ResultFormat format) {
  const WorkScope work(EngineWork::kOutput);
  std::cout << (format == ResultFormat::kJson ? outcome_json(outcome, name) : outcome_text(outcome))
            << std::flush;
}

}  // namespace

Status run_workflow_command(const CommandLine& command, jit::Jit& jit, CodeNames& names,
                            const std::atomic<bool>& cancel, Timings& timings) {
  if (command.concurrent > 1 || command.instrument)
    return invalid("--concurrent and --instrument are for queries, and not for workflows");
  if (command.format == ResultFormat::kCsv)
    return invalid("contexts have several shapes, and --csv is for rows: take --json");
  auto loaded = load_workflow(command);
  if (!loaded.ok()) return loaded.error();
  const std::string name = loaded->opened.workflow.name;
  workflow::WorkflowSettings settings;
  settings.level = command.level;
  settings.tags = command.tags;
  settings.lineage = command.lineage;
  settings.observer = names.wanted() ? &names : nullptr;
  auto compiled = workflow::CompiledWorkflow::make(std::move(loaded->opened.workflow),
                                                   std::move(loaded->images), jit, settings);
  if (!compiled.ok()) return compiled.error();
  if (command.timing) {
    fmt::print(stderr, "{}: generated in {:.2f} ms, compiled in {:.2f} ms\n", name,
               (*compiled)->times().generate, (*compiled)->times().compile);
  }
  WorkerPool pool(command.threads, (*compiled)->tag_strategy());
  const workflow::RunOptions options{command.memory_limit, &cancel, command.labels};
  for (unsigned run = 0; run < command.repeat; ++run) {
    auto outcome = workflow::run_workflow(**compiled, loaded->opened.files, pool, options);
    if (!outcome.ok()) return outcome.error();
    if (run == 0 && !command.quiet) print_outcome(*outcome, name, command.format);
    timings.runs.push_back({name, outcome->wall_ns, outcome->cpu_ns, 0, outcome->peak_memory});
    if (command.timing) {
      fmt::print(stderr, "{}: {:.2f} ms, {:.2f} ms of CPU time, {:.1f} MiB\n", name,
                 static_cast<double>(outcome->wall_ns) / 1e6, static_cast<double>(outcome->cpu_ns) / 1e6,
                 static_cast<double>(outcome->peak_memory) / (1 << 20));
    }
  }
  return Ok{};
}

Status compile_workflow_command(const CommandLine& command) {
  auto opened = workflow::open_workflow(command.workflow.file, {});
  if (!opened.ok()) return opened.error();
  auto stored = workflow::store_workflow(*opened, command.workflow.clang, command.workflow.folder);
  if (!stored.ok()) return stored.error();
  fmt::print("{}\n", *stored);
  return Ok{};
}

Status explain_workflow_command(const CommandLine& command) {
  auto loaded = load_workflow(command);
  if (!loaded.ok()) return loaded.error();
  const workflow::HostSpeed host = workflow::measure_host(command.threads);
  auto text = workflow::explain_workflow(loaded->opened.workflow, loaded->images, command.threads, host);
  if (!text.ok()) return text.error();
  std::cout << text->text << std::flush;
  return Ok{};
}

Status analyze_workflow_command(const CommandLine& command, jit::Jit& jit, const std::atomic<bool>& cancel) {
  auto loaded = load_workflow(command);
  if (!loaded.ok()) return loaded.error();
  const workflow::HostSpeed host = workflow::measure_host(command.threads);
  auto explained = workflow::explain_workflow(loaded->opened.workflow, loaded->images, command.threads, host);
  if (!explained.ok()) return explained.error();
  auto measured = analyze_workflow(command, jit, cancel, *explained, host, std::move(loaded->opened.workflow),
                                   std::move(loaded->images), loaded->opened.files);
  if (!measured.ok()) return measured.error();
  std::cout << explained->text << "\n" << *measured << std::flush;
  return Ok{};
}

Status explain_workflow_levels(const CommandLine& command, jit::Jit& jit) {
  auto loaded = load_workflow(command);
  if (!loaded.ok()) return loaded.error();
  SeenWorkflowCode seen;
  workflow::WorkflowSettings settings;
  settings.level = command.level;
  settings.tags = command.tags;
  settings.observer = &seen;
  auto compiled = workflow::CompiledWorkflow::make(std::move(loaded->opened.workflow),
                                                   std::move(loaded->images), jit, settings);
  if (!compiled.ok()) return compiled.error();
  auto text = levels_json(seen.plan, seen.code);
  if (!text.ok()) return text.error();
  std::cout << *text << std::flush;
  return Ok{};
}

}  // namespace tailor::weft
