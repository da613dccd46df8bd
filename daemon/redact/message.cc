#include "daemon/redact/message.h"

#include <sys/random.h>

#include <array>
#include <cstdlib>

#include "proto/base/sha256.h"

namespace tailor::redact {
namespace {

std::string random_salt() {
  std::array<char, 32> bytes{};
  // Fails for no request of this size once the system has started.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return {bytes.data(), bytes.size()};
}

}  // namespace

MessageRedactor::MessageRedactor() : salt_(random_salt()) {}

void MessageRedactor::redact(v1::AgentMessage& message, DoubleQuotes quotes) const {
  switch (message.body_case()) {
    case v1::AgentMessage::kPlanLoad:
      return redact_plan(*message.mutable_plan_load(), quotes);
    case v1::AgentMessage::kCodeLoad: {
      v1::CodeObject& code = *message.mutable_code_load();
      code.set_name(name_without_literals(code.name(), quotes));
      for (v1::Attachment& each : *code.mutable_attachments()) redact_attachment(each, quotes);
      return;
    }
    case v1::AgentMessage::kExecutionBegin:
      for (v1::Label& label : *message.mutable_execution_begin()->mutable_labels()) {
        if (label.key() == "query") label.set_value(without_literals(label.value(), quotes));
      }
      return;
    case v1::AgentMessage::kExecutionEnd: {
      // What an engine complains about may be a value, and in any quotes.
      v1::ExecutionEnd& end = *message.mutable_execution_end();
      end.set_error(without_literals(end.error(), DoubleQuotes::kLiteral));
      return;
    }
    default:
      return;
  }
}

void MessageRedactor::redact_plan(v1::Plan& plan, DoubleQuotes quotes) const {
  plan.set_name(name_without_literals(plan.name(), quotes));
  for (v1::Level& level : *plan.mutable_levels()) {
    for (v1::Component& component : *level.mutable_components()) {
      component.set_name(name_without_literals(component.name(), quotes));
      for (v1::Attribute& attribute : *component.mutable_attributes()) {
        if (attribute.value_case() == v1::Attribute::kText)
          attribute.set_text(name_without_literals(attribute.text(), quotes));
      }
    }
  }
  for (v1::Pipeline& pipeline : *plan.mutable_pipelines())
    pipeline.set_name(name_without_literals(pipeline.name(), quotes));
  for (v1::Attachment& each : *plan.mutable_attachments()) redact_attachment(each, quotes);
}

void MessageRedactor::redact_attachment(v1::Attachment& attachment, DoubleQuotes quotes) const {
  if (attachment.kind() == "ir") return;
  attachment.set_content(without_literals(attachment.content(), quotes));
  if (attachment.sha256().empty()) return;
  const Sha256Digest digest = sha256(salt_ + attachment.sha256());
  attachment.set_sha256(digest.data(), digest.size());
}

DoubleQuotes double_quotes_of(const std::string& engine) {
  // By the SQL standard, and only where it is sure.
  for (const char* standard : {"PostgreSQL", "postgres", "weft"}) {
    if (engine == standard) return DoubleQuotes::kName;
  }
  return DoubleQuotes::kLiteral;
}

}  // namespace tailor::redact
