// weft with two owners swapped in its dictionary: what the tests of injected costs must find wrong.
// TAILOR_TWIN_KIND and TAILOR_TWIN_CONSUMER name an operator (its kind, and that of the next operator above
// that is no map unless it is one itself); it and the group by exchange their tasks.
#include <tailor/agent.h>

#include <cstdlib>
#include <string>
#include <string_view>

#include "tailor/v1/dictionary.pb.h"

extern "C" int __real_tailor_plan_load(uint64_t plan_id, const void* plan, size_t size);
extern "C" int __wrap_tailor_plan_load(uint64_t plan_id, const void* plan, size_t size);

namespace {

using tailor::v1::Component;
using tailor::v1::Level;

const Component* consumer_of(const Level& operators, std::uint32_t id) {
  for (const Component& component : operators.components()) {
    for (std::uint32_t input : component.inputs())
      if (input == id) return &component;
  }
  return nullptr;
}

std::string consumer_kind(const Level& operators, const Component& component) {
  const Component* consumer = consumer_of(operators, component.id());
  while (consumer != nullptr && component.kind() != "map" && consumer->kind() == "map")
    consumer = consumer_of(operators, consumer->id());
  return consumer == nullptr ? "" : consumer->kind();
}

void swap_owners(tailor::v1::Plan& plan, std::string_view kind, std::string_view consumer) {
  const Level& operators = plan.levels(0);
  std::uint32_t one = 0;
  std::uint32_t other = 0;
  for (const Component& component : operators.components()) {
    if (component.kind() == "group_by") one = component.id();
    if (component.kind() == kind && consumer_kind(operators, component) == consumer) other = component.id();
  }
  if (one == 0 || other == 0) return;
  for (std::uint32_t& link : *plan.mutable_levels(1)->mutable_links()) {
    if (link == one << 1)
      link = other << 1;
    else if (link == other << 1)
      link = one << 1;
  }
}

}  // namespace

extern "C" int __wrap_tailor_plan_load(uint64_t plan_id, const void* plan, size_t size) {
  const char* kind = std::getenv("TAILOR_TWIN_KIND");
  const char* consumer = std::getenv("TAILOR_TWIN_CONSUMER");
  tailor::v1::Plan swapped;
  if (kind == nullptr || consumer == nullptr || !swapped.ParseFromArray(plan, static_cast<int>(size)))
    return __real_tailor_plan_load(plan_id, plan, size);
  swap_owners(swapped, kind, consumer);
  const std::string bytes = swapped.SerializeAsString();
  return __real_tailor_plan_load(plan_id, bytes.data(), bytes.size());
}
