#include "daemon/query/sums/keys.h"

#include <fmt/format.h>

#include <span>

#include "proto/base/hex.h"

namespace tailor::query {

std::string process_key(ProcessId process) {
  return fmt::format("{}.{}", process.pid, process.start);
}

std::string plan_key(ProcessId process, PlanId plan) {
  return fmt::format("{}.{}.{}", process.pid, process.start, plan);
}

std::string operator_key(ProcessId process, PlanId plan, ComponentId id) {
  return fmt::format("operator:{}:{}", plan_key(process, plan), id);
}

std::string task_key(ProcessId process, PlanId plan, ComponentId id) {
  return fmt::format("task:{}:{}", plan_key(process, plan), id);
}

std::string pipeline_key(ProcessId process, PlanId plan, std::uint32_t id) {
  return fmt::format("pipeline:{}:{}", plan_key(process, plan), id);
}

std::string component_key(ProcessId process, std::uint32_t id) {
  return fmt::format("component:{}:{}", process_key(process), id);
}

std::string unattributed_key(std::string_view reason) {
  return fmt::format("unattributed:{}", reason);
}

std::string hex(const ExecutionId& id) {
  return hex_text(std::as_bytes(std::span(id.bytes)));
}

}  // namespace tailor::query
