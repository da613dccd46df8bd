#include "dataflow.h"

namespace flow {
namespace {
using tailor::ComponentId;
using tailor::tagging::DictionaryBuilder;

ComponentId node(DictionaryBuilder& plan, const char* name, const char* kind,
                 std::vector<ComponentId> inputs) {
  return plan.add(0, {.name = name, .kind = kind, .inputs = std::move(inputs)});
}

ComponentId step(DictionaryBuilder& plan, const char* name, ComponentId owner) {
  return plan.add(1, {.name = name, .kind = "step"}, std::span(&owner, 1));
}
}  // namespace

Program::Program(const std::string& lowest, std::uint32_t tag_strategy)
    : plan("pagerank", {"node", "step", lowest}), tags(tag_strategy) {
  read = node(plan, "Read edges", "source", {});
  gather = node(plan, "Gather ranks", "map", {read});
  scatter = node(plan, "Scatter", "reduce", {gather});
  damp = node(plan, "Damp", "map", {scatter});
  delta = node(plan, "Delta", "reduce", {damp});
  converge = node(plan, "Converge", "loop", {delta});
  top = node(plan, "Leaders", "sink", {converge});
  read_step = step(plan, "next edge", read);
  gather_step = step(plan, "share of the source", gather);
  scatter_step = step(plan, "add to the target", scatter);
  damp_step = step(plan, "damp", damp);
  delta_step = step(plan, "add to delta", delta);
  control_step = step(plan, "loop control", converge);
  top_step = step(plan, "find the leaders", top);
  plan.add_pipeline("edges", 1, {read_step, gather_step, scatter_step});
  plan.add_pipeline("vertices", 1, {control_step, damp_step, delta_step}, {1});
  plan.add_pipeline("leaders", 1, {top_step}, {2});
  ids = tailor_plan_new();
}

}  // namespace flow
