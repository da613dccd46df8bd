// Takes literals out of what agents say, where the configuration says so, before anybody keeps it.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "daemon/redact/message.h"
#include "daemon/registration/events.h"

namespace tailor::session {

// Control thread only.
class AgentLiterals {
 public:
  // `keep`: they stay as they are.
  explicit AgentLiterals(bool keep) : keep_(keep) {}
  // Of messages that arrive from now on.
  void set_keep(bool keep) { keep_ = keep; }

  void connected(const registration::PeerConnected& event) {
    double_quotes_[event.process] = redact::double_quotes_of(event.hello.engine_name());
  }
  // A large one was given to redaction() before.
  void message(registration::PeerMessage& event) {
    if (!keep_ && !event.large) redactor_->redact(event.message, double_quotes_[event.process]);
  }
  // The same for the process's large messages that come from now on, on any thread. Empty: they stay as they
  // are.
  using Redaction = std::function<void(v1::AgentMessage&)>;
  Redaction redaction(ProcessId process) {
    if (keep_) return {};
    return [redactor = redactor_, quotes = double_quotes_[process]](v1::AgentMessage& message) {
      redactor->redact(message, quotes);
    };
  }
  void gone(ProcessId process) { double_quotes_.erase(process); }

 private:
  bool keep_;
  std::shared_ptr<const redact::MessageRedactor> redactor_ =
      std::make_shared<const redact::MessageRedactor>();
  std::map<ProcessId, redact::DoubleQuotes> double_quotes_;  // of registered processes
};

}  // namespace tailor::session
