// Takes literals out of what agents say, before anybody keeps it (docs/security.md).
#pragma once

#include <string>

#include "daemon/redact/sql_text.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::redact {

// One recording. Any thread.
class MessageRedactor {
 public:
  MessageRedactor();

  // In place: texts attached to plans and code (but "ir", which makes no sense without its constants), names
  // and attributes of components, names of plans, pipelines and code, the label "query", and what went wrong
  // with an execution. Costs nothing for messages that have none of these. The words of Tailor's
  // extension for PostgreSQL about a node stay: what wrappers cost, and the server's name of a subplan.
  void redact(v1::AgentMessage& message, DoubleQuotes quotes) const;

 private:
  void redact_plan(v1::Plan& plan, DoubleQuotes quotes) const;
  void redact_attachment(v1::Attachment& attachment, DoubleQuotes quotes) const;

  // Attachments are named by the digest of their content. Anybody can compute that of a guessed literal; with
  // this in front of it nobody can.
  std::string salt_;
};

// What double quotes mean to an engine of this name, as it registers.
DoubleQuotes double_quotes_of(const std::string& engine);

}  // namespace tailor::redact
