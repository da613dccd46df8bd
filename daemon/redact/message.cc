#include "daemon/redact/message.h"

#include <sys/random.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include "proto/base/sha256.h"

namespace tailor::redact {
namespace {

std::string random_salt() {
  std::array<char, 32> bytes{};
  // Fails for no request of this size once the system has started.
  if (::getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) std::abort();
  return {bytes.data(), bytes.size()};
}

// Reads a sentence of Tailor's own agents, part by part.
class OwnSentence {
 public:
  explicit OwnSentence(std::string_view text) : rest_(text) {}

  bool word(std::string_view expected) {
    if (!rest_.starts_with(expected)) return false;
    rest_.remove_prefix(expected.size());
    return true;
  }
  // One or more of these characters.
  bool number(std::string_view characters) {
    const std::size_t end = std::min(rest_.find_first_not_of(characters), rest_.size());
    rest_.remove_prefix(end);
    return end > 0;
  }
  bool ended() const { return rest_.empty(); }

 private:
  std::string_view rest_;
};

constexpr std::string_view kDigits = "0123456789";

// "2.1 % of its time, so that one execution in 3.4 has them" (agent/postgres/overhead.c).
bool is_cost_of_wrappers(std::string_view text) {
  OwnSentence said(text);
  if (!said.number("0123456789.e+-") || !said.word(" % of its time")) return false;
  if (said.word(", if it had them") || said.ended()) return said.ended();
  return said.word(", so that one execution in ") && said.number("0123456789.") && said.word(" has them") &&
         said.ended();
}

// "InitPlan 1 (returns $0,$1)": the server's own name of a subplan.
bool is_name_of_subplan(std::string_view text) {
  OwnSentence said(text);
  if (!said.word("InitPlan ") && !said.word("SubPlan ")) return false;
  if (!said.number(kDigits)) return false;
  if (said.ended()) return true;
  if (!said.word(" (returns ")) return false;
  do {
    if (!said.word("$") || !said.number(kDigits)) return false;
  } while (said.word(","));
  return said.word(")") && said.ended();
}

// Numbers in these are none of a query. The whole text must be such a sentence, so that nothing else passes.
bool is_own_sentence(const v1::Attribute& attribute) {
  if (attribute.key() == "wrappers") return is_cost_of_wrappers(attribute.text());
  return attribute.key() == "details" && is_name_of_subplan(attribute.text());
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
        if (attribute.value_case() == v1::Attribute::kText && !is_own_sentence(attribute))
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
