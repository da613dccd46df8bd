#include "tests/integration/weft_lineage/traced_query.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "compiler/weft/exec/execution.h"

namespace tailor::weft {

OwnedQuery::OwnedQuery(const NamedQuery& named, jit::Jit& jit, jit::OptLevel level) {
  CompileSettings settings;
  settings.name = std::string(named.name);
  settings.level = level;
  settings.tag_sections = true;
  auto made = CompiledQuery::make(std::string(named.sql), test_tables(), jit, settings);
  if (!made.ok()) {
    std::fprintf(stderr, "%s: %s\n", settings.name.c_str(), made.error().message.c_str());
    std::abort();
  }
  query = std::move(*made);
  read_lines();
  read_code();
}

TracedQuery::TracedQuery(const NamedQuery& named, jit::Jit& jit, jit::OptLevel level, std::uint64_t rows,
                         std::size_t steps)
    : OwnedQuery(named, jit, level) {
  // The scheduler's own knob, turned for a run that is followed step by step.
  auto& program = const_cast<Program&>(query->program());
  for (PipelineProgram& pipeline : program.pipelines) pipeline.morsel = std::min(pipeline.morsel, rows);
  const std::uint64_t base = query->code().base();
  std::vector<TracedInstruction> instructions;
  for (const OwnedInstruction& each : code)
    instructions.push_back({base + each.native.offset, each.native.is_call});
  std::vector<std::uint64_t> entries;
  for (const jit::FunctionRange& function : query->code().functions())
    entries.push_back(base + function.offset);
  trace = follow_with_ptrace({.begin = base,
                              .end = base + query->code().code().size(),
                              .instructions = instructions,
                              .entries = entries,
                              .steps_per_call = steps},
                             [&] {
                               WorkerPool pool(1);
                               return execute(*query, pool, {}).ok();
                             });
}

ComponentId TracedQuery::task_of_tag(std::uint64_t tag) const {
  for (ComponentId task = 1; task <= query->program().task_count; ++task) {
    if (query->tag(query->operator_of(task), task) == tag) return task;
  }
  return kNoComponent;
}

std::size_t OwnedQuery::index_at(std::uint64_t ip) const {
  const std::uint64_t offset = ip - query->code().base();
  auto it = std::lower_bound(
      code.begin(), code.end(), offset,
      [](const OwnedInstruction& each, std::uint64_t at) { return each.native.offset < at; });
  if (it == code.end() || it->native.offset != offset) std::abort();
  return static_cast<std::size_t>(it - code.begin());
}

void OwnedQuery::read_lines() {
  const tailor::v1::Plan plan = query->dictionary().build({});
  for (const auto& attachment : plan.attachments()) {
    if (attachment.kind() == "ir") lines = read_listing(attachment.content());
  }
}

void OwnedQuery::read_code() {
  const jit::CompiledModule& module = query->code();
  const auto& rows = module.rows().rows();
  std::size_t row = 0, function = 0;
  for (NativeInstruction& native : take_apart(module.code())) {
    while (row + 1 < rows.size() && rows[row + 1].offset <= native.offset) ++row;
    while (function + 1 < module.functions().size() &&
           module.functions()[function + 1].offset <= native.offset)
      ++function;
    OwnedInstruction& out = code.emplace_back();
    out.native = std::move(native);
    out.function = module.functions()[function].name;
    out.flag = rows[row].flag;
    module.rows().pool().expand(rows[row].link, out.ids);
    for (ComponentId id : out.ids) {
      auto owners = query->dictionary().owners(GeneratedQuery::kIrLevel, id);
      out.tasks.insert(out.tasks.end(), owners.begin(), owners.end());
    }
    std::sort(out.tasks.begin(), out.tasks.end());
    out.tasks.erase(std::unique(out.tasks.begin(), out.tasks.end()), out.tasks.end());
  }
}

}  // namespace tailor::weft
