#include "daemon/registration/message_parser.h"

#include <fmt/format.h>

#include "daemon/registration/limits.h"
#include "daemon/registration/validate_code.h"
#include "daemon/registration/validate_plan.h"
#include "daemon/registration/wire_budget.h"

namespace tailor::registration {

namespace {

Status require(bool holds, const char* otherwise) {
  if (holds) return Ok{};
  return invalid(otherwise);
}

Status validate_hello(const v1::Hello& hello) {
  if (hello.protocol() != 1) {
    return invalid(fmt::format("agent speaks protocol {}, this daemon speaks 1", hello.protocol()));
  }
  if (hello.instance().size() != 16) return invalid("hello without an instance of 16 bytes");
  if (!v1::TagStrategy_IsValid(hello.tag_strategy())) return invalid("hello with an unknown tag strategy");
  bool short_enough = hello.engine_name().size() <= kMaxNameBytes &&
                      hello.engine_version().size() <= kMaxNameBytes &&
                      hello.agent_version().size() <= kMaxNameBytes;
  return require(short_enough, "hello with a name that is too long");
}

Status validate_thread_add(const v1::ThreadAdd& add) {
  if (add.arena() >= kMaxArenas || add.area() >= kMaxAreas)
    return invalid("thread in an area that does not exist");
  if (add.tid() == 0 || add.tid() > INT32_MAX) return invalid("thread without a thread id");
  return require(add.name().size() <= kMaxNameBytes, "thread with a name that is too long");
}

// What an execution says of a set of labels.
Status validate_set(const v1::ExecutionBegin& begin) {
  if (begin.label_set() > kMaxLabelSets || (begin.label_set() == 0 && begin.set_labels_size() > 0))
    return invalid(
        fmt::format("execution {}: no set of labels can have number {}", begin.handle(), begin.label_set()));
  if (begin.set_labels_size() > kMaxLabels)
    return exhausted(fmt::format("execution {}: too many labels in a set", begin.handle()));
  std::size_t bytes = 0;
  for (const v1::Label& label : begin.set_labels()) bytes += label.key().size() + label.value().size();
  if (bytes > kMaxLabelSetBytes)
    return exhausted(fmt::format("execution {}: a set of labels has {} bytes, allowed are {}", begin.handle(),
                                 bytes, kMaxLabelSetBytes));
  for (const v1::Label& label : begin.set_labels()) {
    if (label.key().size() > kMaxNameBytes)
      return exhausted(fmt::format("execution {}: a label is too long", begin.handle()));
  }
  return Ok{};
}

Status validate_execution_begin(const v1::ExecutionBegin& begin) {
  if (begin.handle() == 0) return invalid("execution without a handle");
  if (begin.id().size() != 16)
    return invalid(fmt::format("execution {}: its id is not 16 bytes", begin.handle()));
  if (Status set = validate_set(begin); !set) return set;
  if (begin.labels_size() > kMaxLabels)
    return exhausted(fmt::format("execution {}: too many labels", begin.handle()));
  std::size_t bytes = 0;
  for (const v1::Label& label : begin.labels()) {
    bytes += label.key().size() + label.value().size();
    if (label.key().size() > kMaxNameBytes || label.value().size() > kMaxTextBytes) {
      return exhausted(fmt::format("execution {}: a label is too long", begin.handle()));
    }
  }
  if (bytes > kMaxLabelBytes) {
    return invalid(fmt::format("execution {}: its labels have {} bytes, allowed are {}", begin.handle(),
                               bytes, kMaxLabelBytes));
  }
  return Ok{};
}

Status validate_execution_end(const v1::ExecutionEnd& end) {
  if (end.handle() == 0) return invalid("end of an execution without a handle");
  return require(end.error().size() <= kMaxLabelBytes, "end of an execution with an error that is too long");
}

Status validate_component(const v1::ComponentDeclare& declare) {
  return require(declare.id() != 0 && declare.name().size() <= kMaxNameBytes,
                 "component without a number, or with a name that is too long");
}

Status validate_region_kind(const v1::RegionKind& kind) {
  return require(kind.id() != 0 && kind.name().size() <= kMaxNameBytes && kind.level() < kMaxLevels,
                 "region kind without a number, with a name that is too long or a level that cannot be");
}

Status validate_wait_names(const v1::WaitNames& waits) {
  if (waits.names_size() > kMaxWaitNames) return invalid("too many names of waits");
  for (const v1::WaitName& each : waits.names()) {
    if (each.number() == 0 || each.name().empty() || each.name().size() > kMaxWaitNameBytes)
      return invalid("a wait without a number, without a name, or with a name that is too long");
  }
  return Ok{};
}

Status validate_blocked(const v1::Blocked& blocked) {
  const bool known = blocked.pid() != 0 && blocked.since_tsc() != 0;
  return require(known && blocked.holders_size() > 0 && blocked.holders_size() <= kMaxHolders,
                 "wait for a lock of no process, since no time, without a holder or with too many");
}

Status validate_notice(const v1::Notice& notice) {
  const bool kind = notice.kind() != 0 && notice.kind() <= kMaxNotices;
  return require(kind && !notice.text().empty() && notice.text().size() <= kMaxNoticeBytes,
                 "notice of a kind that cannot be, without a text, or with one that is too long");
}

}  // namespace

Result<v1::AgentMessage> parse(std::string_view bytes) {
  v1::AgentMessage message;
  if (Status parsed = parse(bytes, message); !parsed) return parsed.error();
  return message;
}

Status parse(std::string_view bytes, v1::AgentMessage& message) {
  if (bytes.size() > kMaxMessageBytes)
    return exhausted(fmt::format("message of {} bytes is too large", bytes.size()));
  Status budget = check_wire_budget(bytes, *v1::AgentMessage::descriptor(), kMaxElements);
  if (!budget) return budget.error();
  if (!message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return invalid(fmt::format("message of {} bytes is not an AgentMessage", bytes.size()));
  }
  return Ok{};
}

bool is_envelope(const v1::AgentMessage& message) {
  return message.payload_bytes() > 0 && message.body_case() == v1::AgentMessage::BODY_NOT_SET;
}

Status validate(const v1::AgentMessage& message) {
  if (message.payload_bytes() != 0) return invalid("message with a body and an announcement of another one");
  switch (message.body_case()) {
    case v1::AgentMessage::kHello:
      return validate_hello(message.hello());
    case v1::AgentMessage::kArenaAdd:
      return require(
          message.arena_add().index() < kMaxArenas && message.arena_add().bytes() <= kMaxArenaBytes,
          "arena with a number or a size that cannot be");
    case v1::AgentMessage::kThreadAdd:
      return validate_thread_add(message.thread_add());
    case v1::AgentMessage::kThreadRemove:
      return require(
          message.thread_remove().arena() < kMaxArenas && message.thread_remove().area() < kMaxAreas,
          "end of a thread in an area that does not exist");
    case v1::AgentMessage::kPlanLoad:
      return validate_plan(message.plan_load());
    case v1::AgentMessage::kPlanUnload:
      return require(message.plan_unload().plan_id() != 0, "end of a plan without an id");
    case v1::AgentMessage::kCodeLoad:
      return validate_code(message.code_load());
    case v1::AgentMessage::kCodeUnload:
      return require(message.code_unload().code_id() != 0, "end of a code object without an id");
    case v1::AgentMessage::kExecutionBegin:
      return validate_execution_begin(message.execution_begin());
    case v1::AgentMessage::kExecutionEnd:
      return validate_execution_end(message.execution_end());
    case v1::AgentMessage::kComponentDeclare:
      return validate_component(message.component_declare());
    case v1::AgentMessage::kComponentCode:
      return require(message.component_code().begin() < message.component_code().end(),
                     "code of a component that ends before it begins");
    case v1::AgentMessage::kRegionKind:
      return validate_region_kind(message.region_kind());
    case v1::AgentMessage::kWaitNames:
      return validate_wait_names(message.wait_names());
    case v1::AgentMessage::kNotice:
      return validate_notice(message.notice());
    case v1::AgentMessage::kBlocked:
      return validate_blocked(message.blocked());
    case v1::AgentMessage::kBarrier:
    case v1::AgentMessage::kGoodbye:
      return Ok{};
    case v1::AgentMessage::BODY_NOT_SET:
      break;
  }
  return invalid("message without a body that this daemon knows");
}

}  // namespace tailor::registration
