#include "daemon/pipeline/renumbered.h"

#include <utility>

#include "daemon/pipeline/checked_message.h"

namespace tailor::pipeline {
namespace {

using Body = v1::AgentMessage;

bool has_numbers(const Body& message) {
  switch (message.body_case()) {
    case Body::kPlanLoad:
    case Body::kPlanUnload:
    case Body::kCodeLoad:
    case Body::kCodeUnload:
    case Body::kExecutionBegin:
    case Body::kExecutionEnd:
    case Body::kComponentDeclare:
    case Body::kComponentCode:
    case Body::kRegionKind:
      return true;
    default:
      return false;
  }
}

void change(Body& message, const process::AgentNumbers& numbers) {
  switch (message.body_case()) {
    case Body::kPlanLoad:
      return message.mutable_plan_load()->set_id(numbers.plan(message.plan_load().id()));
    case Body::kPlanUnload:
      return message.mutable_plan_unload()->set_plan_id(numbers.plan(message.plan_unload().plan_id()));
    case Body::kCodeLoad:
      message.mutable_code_load()->set_plan_id(numbers.plan(message.code_load().plan_id()));
      return message.mutable_code_load()->set_id(numbers.code(message.code_load().id()));
    case Body::kCodeUnload:
      return message.mutable_code_unload()->set_code_id(numbers.code(message.code_unload().code_id()));
    case Body::kExecutionBegin:
      message.mutable_execution_begin()->set_plan_id(numbers.plan(message.execution_begin().plan_id()));
      return message.mutable_execution_begin()->set_handle(
          numbers.execution(message.execution_begin().handle()));
    case Body::kExecutionEnd:
      return message.mutable_execution_end()->set_handle(numbers.execution(message.execution_end().handle()));
    case Body::kComponentDeclare:
      return message.mutable_component_declare()->set_id(numbers.component(message.component_declare().id()));
    case Body::kComponentCode:
      return message.mutable_component_code()->set_id(numbers.component(message.component_code().id()));
    case Body::kRegionKind:
      message.mutable_region_kind()->set_plan_id(numbers.plan(message.region_kind().plan_id()));
      return message.mutable_region_kind()->set_id(numbers.region_kind(message.region_kind().id()));
    default:
      return;
  }
}

void change(CheckedMessage& checked, const process::AgentNumbers& numbers) {
  if (checked.plan && checked.plan->ok()) (*checked.plan)->id = numbers.plan((*checked.plan)->id);
  if (checked.code && checked.code->ok()) (*checked.code)->state.id = numbers.code((*checked.code)->state.id);
}

// Others have the message as it was said, so this is another one. What was made of it is this one's now.
std::shared_ptr<registration::LargeMessage> changed(const std::shared_ptr<registration::LargeMessage>& said,
                                                    const process::AgentNumbers& numbers) {
  auto other = std::make_shared<registration::LargeMessage>(said);
  other->message() = std::as_const(*said).message();
  change(other->message(), numbers);
  other->dictionary_bytes = said->dictionary_bytes;
  other->prepared = std::move(said->prepared);
  if (auto* checked = dynamic_cast<CheckedMessage*>(other->prepared.get())) change(*checked, numbers);
  return other;
}

void note(const Body& message, process::NumbersInUse& in_use) {
  if (message.has_plan_load()) in_use.note_plan(message.plan_load().id());
  if (message.has_code_load()) in_use.note_code(message.code_load().id());
  if (message.has_execution_begin()) in_use.note_execution(message.execution_begin().handle());
  if (message.has_component_declare()) in_use.note_component(message.component_declare().id());
  if (message.has_region_kind()) in_use.note_region_kind(message.region_kind().id());
}

}  // namespace

Renumbered::Renumbered(const registration::PeerMessage& said, process::ProcessState& state)
    : message_(&said.message), large_(said.large) {
  const process::AgentNumbers numbers = state.numbers();
  if (numbers.change() && has_numbers(message())) {
    if (large_) {
      large_ = changed(large_, numbers);
    } else {
      own_ = said.message;
      change(own_, numbers);
      message_ = &own_;
    }
  }
  note(message(), state.numbers_in_use());
}

tailor_log_record renumbered(const tailor_log_record& said, const process::AgentNumbers& numbers) {
  const bool begins = said.kind == TAILOR_LOG_EXECUTION_BEGIN;
  tailor_log_record out = said;
  if (begins || said.kind == TAILOR_LOG_EXECUTION_END) out.a = numbers.execution(said.a);
  if (begins) out.b = numbers.plan(said.b);
  if (said.kind == TAILOR_LOG_COMPONENT_BEGIN || said.kind == TAILOR_LOG_COMPONENT_END)
    out.id = numbers.component(said.id);
  if (said.kind == TAILOR_LOG_REGION_ADD) out.id = numbers.region_kind(said.id);
  return out;
}

}  // namespace tailor::pipeline
