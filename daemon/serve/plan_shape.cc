#include "daemon/serve/plan_shape.h"

#include <string>
#include <string_view>

#include "daemon/redact/sql_text.h"

namespace tailor::serve {

std::uint64_t plan_shape(const query::PlanModel& plan) {
  constexpr std::uint64_t kPrime = 0x100000001b3;  // FNV-1a
  std::uint64_t hash = 0xcbf29ce484222325;
  const auto mix = [&](std::string_view text) {
    for (const unsigned char byte : text) hash = (hash ^ byte) * kPrime;
    hash = (hash ^ 0xFF) * kPrime;
  };
  for (const query::PlanModel::TreeNode& node : plan.tree()) {
    const v1::Component* component = plan.component(0, node.id);
    if (component == nullptr) continue;
    mix(component->kind());
    mix(redact::name_without_literals(component->name()));
    mix(std::to_string(node.depth));
  }
  return hash;
}

}  // namespace tailor::serve
