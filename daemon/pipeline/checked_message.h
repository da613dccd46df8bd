// A large plan or code object, checked on another thread before the pipeline takes it.
#pragma once

#include <memory>
#include <optional>

#include "daemon/process/code_state.h"
#include "daemon/process/limits.h"
#include "daemon/process/plan_state.h"
#include "daemon/registration/large_message.h"

namespace tailor::pipeline {

// The verdicts that the pipeline would come to itself, with the same limits.
struct CheckedMessage : registration::Prepared {
  std::optional<Result<process::PlanState>> plan;
  std::optional<Result<process::CheckedCode>> code;
};

// Any thread. Pure.
std::unique_ptr<CheckedMessage> check_message(const v1::AgentMessage& message, const process::Limits& limits);

}  // namespace tailor::pipeline
