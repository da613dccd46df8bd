// What a recording does with what agents say.
#include <fmt/format.h>

#include <string>

#include "daemon/pipeline/checked_message.h"
#include "daemon/registration/limits.h"
#include "daemon/session/host_info.h"
#include "daemon/session/recorder.h"
#include "daemon/session/untagged.h"

namespace tailor::session {

void Recorder::on_connected(const registration::PeerConnected& event) {
  stirred_ = listened_;
  literals_.connected(event);
  input_.on_connected(event);
  code_.connected(event);
  v1::DaemonMessage answer;
  std::string denied = options_.sample_registered ? sample_registered(event.process) : std::string();
  tell_unread_slots(event);
  answer.mutable_hello_ack()->set_daemon_version(kVersion);
  answer.mutable_hello_ack()->set_sampling(denied.empty());
  answer.mutable_hello_ack()->set_reason(denied);
  answer.mutable_hello_ack()->set_label_sets(registration::kMaxLabelSets);
  if (options_.untagged_ppm > 0)
    session::set_untagged(options_.untagged_ppm, *answer.mutable_hello_ack()->mutable_settings());
  server_->reply(event.connection, answer);
}

// What its samples need is there, or will not be needed.
bool Recorder::may_begin(ProcessId process) {
  return !options_.sample_registered || ending_ || sampled_.contains(process) ||
         sampled_.may_open(options_.capture);
}

// All that takes long with a large message, on the thread that reads it.
registration::Prepare Recorder::preparation(ProcessId process) {
  return
      [redact = literals_.redaction(process), limits = options_.pipeline.limits](v1::AgentMessage& message) {
        if (redact) redact(message);
        return pipeline::check_message(message, limits);
      };
}

void Recorder::on_message(registration::PeerMessage event) {
  stirred_ = listened_;
  literals_.message(event);
  input_.on_message(event);
  if (pipeline_.messages().took()) code_.message(event);
  if (!event.said().has_barrier()) return;
  v1::DaemonMessage answer;
  answer.mutable_barrier_ack()->set_sequence(event.said().barrier().sequence());
  server_->reply(event.connection, answer);
}

void Recorder::on_gone(const registration::PeerGone& event) {
  stirred_ = listened_;
  input_.advance(os_.now());  // what the process did is over by then
  drops_.gone(event.process);
  input_.on_gone(event);
  code_.gone(event);
  literals_.gone(event.process);
  // It stays in the status until the next sweep has looked for it.
  if (event.reason == registration::GoneReason::kProcessExit)
    sampled_.states().set_why_not(event.process, "it has ended");
}

// What agents said before `until`, and is not here though the recording ends.
void Recorder::tell_unheard(TimeNs until) {
  for (const ProcessId process : drops_.end(until)) {
    on_problem_({process,
                 "not all that its agent had said was read before the recording ended: plans, code and "
                 "executions of its last moments may be missing"});
  }
}

void Recorder::on_refused(const registration::PeerRefused& event) {
  on_problem_({{event.pid, 0}, fmt::format("of user {}, was turned away: {}", event.uid, event.reason)});
}

// "" if the process is sampled, else why not.
std::string Recorder::sample_registered(ProcessId process) {
  if (sampled_.contains(process)) return {};
  if (std::string why = why_not_now(process); !why.empty()) return why;
  Status opened = sampled_.open_running(process, options_.capture, {});
  if (opened.ok()) return {};
  sampled_.states().set_why_not(process, opened.error().message);
  on_problem_({process, opened.error().message});
  return opened.error().message;
}

// "" if it may be sampled.
std::string Recorder::why_not_now(ProcessId process) {
  std::string why = rules_.why_ignored(process);
  return why.empty() ? paused_.pause_if_all_are(process) : why;
}

void Recorder::tell_unread_slots(const registration::PeerConnected& event) {
  if (event.hello.tag_strategy() != v1::TAGS_MEMORY_SLOT) return;
  const ProcessSampling* sampled = sampled_.find(event.process);
  // A child of one that is sampled with its children.
  if (sampled == nullptr) sampled = sampled_.first_with_children();
  if (sampled == nullptr) return;
  if (sampled->reads_slots && event.hello.tag_slot_offset() != 0) return;
  const char* why = sampled->reads_slots ? "its agent does not say where" : "only a BPF program reads them";
  on_problem_(
      {event.process,
       fmt::format("it keeps tags in memory slots, and {}: its shared code has no tags. Call stacks show for "
                   "whom shared code runs, where stacks are sampled (docs/tags.md)",
                   why)});
}

}  // namespace tailor::session
