// Takes literals out of what agents say, where the configuration says so, before anybody keeps it.
#pragma once

#include <map>

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
  void message(registration::PeerMessage& event) {
    if (!keep_) redactor_.redact(event.message, double_quotes_[event.process]);
  }
  void gone(ProcessId process) { double_quotes_.erase(process); }

 private:
  bool keep_;
  redact::MessageRedactor redactor_;
  std::map<ProcessId, redact::DoubleQuotes> double_quotes_;  // of registered processes
};

}  // namespace tailor::session
