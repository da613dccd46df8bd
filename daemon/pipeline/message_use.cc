#include "daemon/pipeline/message_use.h"

#include "daemon/pipeline/wait_names.h"
#include "daemon/process/process_state.h"

namespace tailor::pipeline {
namespace {

// Executions are kept while they run, and once more by the store.
constexpr std::size_t kCopiesOfExecution = 3;

}  // namespace

std::size_t bytes_of(const profile::ExecutionRecord& execution) {
  std::size_t bytes = sizeof execution + kNode + execution.error.size();
  for (const auto& [key, value] : execution.labels) bytes += kNode + key.size() + value.size();
  return kCopiesOfExecution * bytes;
}

std::size_t bytes_of(const v1::WaitNames& waits) {
  return static_cast<std::size_t>(waits.names_size()) * (sizeof(EngineWaits::value_type) + kNode);
}

Use wanted(const v1::AgentMessage& message) {
  Use use;
  switch (message.body_case()) {
    case v1::AgentMessage::kPlanLoad:
      use.plans = 1;
      use.bytes = sizeof(process::PlanState) + 2 * kNode;
      break;
    case v1::AgentMessage::kCodeLoad: {
      const v1::CodeObject& code = message.code_load();
      const auto rows = static_cast<std::size_t>(code.rows().offset_delta_size());
      use.code_bytes = code.code().size() + rows * sizeof(process::CodeRow) + code.eh_frame().size();
      use.bytes = sizeof(process::CodeState) + kNode + use.code_bytes;
      break;
    }
    case v1::AgentMessage::kExecutionBegin:
      use.bytes = kCopiesOfExecution * (message.ByteSizeLong() + sizeof(profile::ExecutionRecord));
      break;
    case v1::AgentMessage::kComponentDeclare:
    case v1::AgentMessage::kComponentCode:
    case v1::AgentMessage::kRegionKind:
    case v1::AgentMessage::kThreadAdd:
      use.bytes = message.ByteSizeLong() + sizeof(process::ThreadTimeline) + kNode;
      break;
    case v1::AgentMessage::kNotice:
      use.bytes = message.ByteSizeLong() + kNode;
      break;
    case v1::AgentMessage::kWaitNames:
      use.bytes = bytes_of(message.wait_names());
      break;
    default:
      break;
  }
  return use;
}

}  // namespace tailor::pipeline
