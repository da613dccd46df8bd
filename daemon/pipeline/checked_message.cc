#include "daemon/pipeline/checked_message.h"

namespace tailor::pipeline {

std::unique_ptr<CheckedMessage> check_message(const v1::AgentMessage& message,
                                              const process::Limits& limits) {
  auto checked = std::make_unique<CheckedMessage>();
  if (message.has_plan_load()) checked->plan.emplace(process::check_plan(message.plan_load(), limits));
  if (message.has_code_load()) checked->code.emplace(process::check_code(message.code_load(), limits));
  return checked;
}

}  // namespace tailor::pipeline
