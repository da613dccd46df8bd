// Names for the parts of a profile that mean the same in all its views and that any reader can hold: numbers
// of 64 bits do not fit those of JavaScript (docs/http-api.md, "Keys").
#pragma once

#include <string>
#include <string_view>

#include "proto/base/ids.h"

namespace tailor::query {

std::string process_key(ProcessId process);                                  // "812.5512"
std::string plan_key(ProcessId process, PlanId plan);                        // "812.5512.7"
std::string operator_key(ProcessId process, PlanId plan, ComponentId id);    // "operator:812.5512.7:3"
std::string task_key(ProcessId process, PlanId plan, ComponentId id);        // "task:812.5512.7:3"
std::string pipeline_key(ProcessId process, PlanId plan, std::uint32_t id);  // "pipeline:812.5512.7:1"
std::string component_key(ProcessId process, std::uint32_t id);              // "component:812.5512:4"
std::string unattributed_key(std::string_view reason);                       // "unattributed:unmapped"

// 32 hexadecimal digits.
std::string hex(const ExecutionId& id);

}  // namespace tailor::query
