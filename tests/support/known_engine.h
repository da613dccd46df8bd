// Targets that stand for an engine with one known plan.
#pragma once

#include <tailor/agent.h>

#include <cstdint>
#include <string>

#include "tests/support/engine_messages.h"

namespace tailor::test {

// Starts the agent, waits until this process is sampled, and loads small_plan() under new
// ids.
inline tailor_plan_ids start_known_engine(const char* name, std::uint32_t tag_strategy = TAILOR_TAGS_R15) {
  tailor_agent_options options{};
  options.size = sizeof options;
  options.engine_name = name;
  options.tag_strategy = tag_strategy;
  tailor_agent_start(&options);
  tailor_agent_barrier(2000);
  const tailor_plan_ids plan = tailor_plan_new();
  const std::string bytes = small_plan(plan.id, plan.slot, plan.generation).SerializeAsString();
  tailor_plan_load(plan.id, bytes.data(), bytes.size());
  return plan;
}

}  // namespace tailor::test
