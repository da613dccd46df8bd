#include "daemon/registration/validate_accesses.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <unordered_set>

#include "daemon/registration/limits.h"

namespace tailor::registration {

namespace {

// What there is to name.
struct Named {
  std::uint32_t operators = 0;  // components of the top level
  std::unordered_set<std::uint32_t> pipelines = {};
};

// What is wrong; empty: nothing.
std::string fault_of_count(const v1::Count& count, const Named& named) {
  if (!std::isfinite(count.factor()) || count.factor() < 0) return "a count with a factor that is no number";
  const std::uint32_t id = count.value_case() == v1::Count::kRowsInto ? count.rows_into() : count.rows_of();
  const bool names_one =
      count.value_case() == v1::Count::kRowsOf || count.value_case() == v1::Count::kRowsInto;
  if (names_one && (id == 0 || id > named.operators))
    return fmt::format("a count of rows of component {} of {}", id, named.operators);
  return {};
}

std::string fault_of_access(const v1::Access& access, const Named& named) {
  if (access.region().size() > kMaxNameBytes) return "a region with a name that is too long";
  if (access.region_owner() > named.operators)
    return fmt::format("a region of component {} of {}", access.region_owner(), named.operators);
  if (access.pipeline() != 0 && !named.pipelines.contains(access.pipeline()))
    return fmt::format("pipeline {}, which there is not", access.pipeline());
  if (access.used_bytes() > access.item_bytes())
    return fmt::format("{} used bytes of an item that has {}", access.used_bytes(), access.item_bytes());
  for (const v1::Count* count : {&access.items(), &access.accesses(), &access.times()})
    if (std::string fault = fault_of_count(*count, named); !fault.empty()) return fault;
  return {};
}

std::string fault_of_component(const v1::Component& component, const Named& named) {
  if (component.accesses_size() > kMaxAccesses)
    return fmt::format("{} accesses, allowed are {}", component.accesses_size(), kMaxAccesses);
  for (const v1::Access& access : component.accesses())
    if (std::string fault = fault_of_access(access, named); !fault.empty())
      return fmt::format("an access with {}", fault);
  if (!component.has_computation()) return {};
  const v1::Computation& computation = component.computation();
  if (!std::isfinite(computation.cycles_per_row()) || computation.cycles_per_row() < 0)
    return "a computation with cycles that are no number";
  if (computation.source().size() > kMaxNameBytes) return "a computation with a source that is too long";
  if (std::string fault = fault_of_count(computation.rows(), named); !fault.empty())
    return fmt::format("a computation with {}", fault);
  return {};
}

}  // namespace

Status validate_accesses(const v1::Plan& plan) {
  Named named{.operators = plan.levels(0).component_count()};
  for (const v1::Pipeline& pipeline : plan.pipelines()) named.pipelines.insert(pipeline.id());
  for (int level = 0; level < plan.levels_size(); ++level)
    for (const v1::Component& component : plan.levels(level).components())
      if (const std::string fault = fault_of_component(component, named); !fault.empty())
        return invalid(fmt::format("level {}: component {} has {}", level, component.id(), fault));
  return Ok{};
}

}  // namespace tailor::registration
