#include "daemon/registration/message_parser.h"

#include <fmt/format.h>

#include "daemon/registration/limits.h"
#include "daemon/registration/validate_code.h"
#include "daemon/registration/validate_plan.h"
#include "daemon/registration/wire_budget.h"

namespace tailor::registration {

namespace {

Status Require(bool holds, const char* otherwise) {
  if (holds) return Ok{};
  return Error{otherwise};
}

Status ValidateHello(const v1::Hello& hello) {
  if (hello.protocol() != 1) {
    return Error{fmt::format("agent speaks protocol {}, this daemon speaks 1", hello.protocol())};
  }
  if (hello.session().size() != 16) return Error{"hello without a session of 16 bytes"};
  if (!v1::TagStrategy_IsValid(hello.tag_strategy())) return Error{"hello with an unknown tag strategy"};
  bool short_enough = hello.engine_name().size() <= kMaxNameBytes &&
                      hello.engine_version().size() <= kMaxNameBytes &&
                      hello.agent_version().size() <= kMaxNameBytes;
  return Require(short_enough, "hello with a name that is too long");
}

Status ValidateThreadAdd(const v1::ThreadAdd& add) {
  if (add.arena() >= kMaxArenas || add.area() >= kMaxAreas)
    return Error{"thread in an area that does not exist"};
  if (add.tid() == 0 || add.tid() > INT32_MAX) return Error{"thread without a thread id"};
  return Require(add.name().size() <= kMaxNameBytes, "thread with a name that is too long");
}

Status ValidateExecutionBegin(const v1::ExecutionBegin& begin) {
  if (begin.handle() == 0) return Error{"execution without a handle"};
  if (begin.id().size() != 16)
    return Error{fmt::format("execution {}: its id is not 16 bytes", begin.handle())};
  if (begin.labels_size() > kMaxLabels)
    return Error{fmt::format("execution {}: too many labels", begin.handle())};
  std::size_t bytes = 0;
  for (const v1::Label& label : begin.labels()) {
    bytes += label.key().size() + label.value().size();
    if (label.key().size() > kMaxNameBytes || label.value().size() > kMaxTextBytes) {
      return Error{fmt::format("execution {}: a label is too long", begin.handle())};
    }
  }
  if (bytes > kMaxLabelBytes) {
    return Error{fmt::format("execution {}: its labels have {} bytes, allowed are {}", begin.handle(), bytes,
                             kMaxLabelBytes)};
  }
  return Ok{};
}

Status ValidateExecutionEnd(const v1::ExecutionEnd& end) {
  if (end.handle() == 0) return Error{"end of an execution without a handle"};
  return Require(end.error().size() <= kMaxLabelBytes, "end of an execution with an error that is too long");
}

Status ValidateComponent(const v1::ComponentDeclare& declare) {
  return Require(declare.id() != 0 && declare.name().size() <= kMaxNameBytes,
                 "component without a number, or with a name that is too long");
}

Status ValidateRegionKind(const v1::RegionKind& kind) {
  return Require(kind.id() != 0 && kind.name().size() <= kMaxNameBytes && kind.level() < kMaxLevels,
                 "region kind without a number, with a name that is too long or a level that cannot be");
}

}  // namespace

Result<v1::AgentMessage> Parse(std::string_view bytes) {
  if (bytes.size() > kMaxMessageBytes)
    return Error{fmt::format("message of {} bytes is too large", bytes.size())};
  Status budget = CheckWireBudget(bytes, *v1::AgentMessage::descriptor(), kMaxElements);
  if (!budget) return budget.error();
  v1::AgentMessage message;
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return Error{fmt::format("message of {} bytes is not an AgentMessage", bytes.size())};
  }
  return message;
}

bool IsEnvelope(const v1::AgentMessage& message) {
  return message.payload_bytes() > 0 && message.body_case() == v1::AgentMessage::BODY_NOT_SET;
}

Status Validate(const v1::AgentMessage& message) {
  if (message.payload_bytes() != 0) return Error{"message with a body and an announcement of another one"};
  switch (message.body_case()) {
    case v1::AgentMessage::kHello:
      return ValidateHello(message.hello());
    case v1::AgentMessage::kArenaAdd:
      return Require(
          message.arena_add().index() < kMaxArenas && message.arena_add().bytes() <= kMaxArenaBytes,
          "arena with a number or a size that cannot be");
    case v1::AgentMessage::kThreadAdd:
      return ValidateThreadAdd(message.thread_add());
    case v1::AgentMessage::kThreadRemove:
      return Require(
          message.thread_remove().arena() < kMaxArenas && message.thread_remove().area() < kMaxAreas,
          "end of a thread in an area that does not exist");
    case v1::AgentMessage::kPlanLoad:
      return ValidatePlan(message.plan_load());
    case v1::AgentMessage::kPlanUnload:
      return Require(message.plan_unload().plan_id() != 0, "end of a plan without an id");
    case v1::AgentMessage::kCodeLoad:
      return ValidateCode(message.code_load());
    case v1::AgentMessage::kCodeUnload:
      return Require(message.code_unload().code_id() != 0, "end of a code object without an id");
    case v1::AgentMessage::kExecutionBegin:
      return ValidateExecutionBegin(message.execution_begin());
    case v1::AgentMessage::kExecutionEnd:
      return ValidateExecutionEnd(message.execution_end());
    case v1::AgentMessage::kComponentDeclare:
      return ValidateComponent(message.component_declare());
    case v1::AgentMessage::kComponentCode:
      return Require(message.component_code().begin() < message.component_code().end(),
                     "code of a component that ends before it begins");
    case v1::AgentMessage::kRegionKind:
      return ValidateRegionKind(message.region_kind());
    case v1::AgentMessage::kBarrier:
    case v1::AgentMessage::kGoodbye:
      return Ok{};
    case v1::AgentMessage::BODY_NOT_SET:
      break;
  }
  return Error{"message without a body that this daemon knows"};
}

}  // namespace tailor::registration
