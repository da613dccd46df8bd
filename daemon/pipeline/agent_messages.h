// Brings what agents say into the process table and, what belongs there, into the profile.
#pragma once

#include "daemon/clock/timeline.h"
#include "daemon/pipeline/problems.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/profile/sink.h"
#include "daemon/registration/events.h"

namespace tailor::pipeline {

// Refusals are counted in the process's accounting and told as problems. One thread; everything passed to the
// constructor must outlive it.
class AgentMessages {
 public:
  AgentMessages(ProcessTable& table, const clock::Timeline& timeline, const process::Limits& limits,
                profile::ProfileSink& sink, Problems& problems)
      : table_(table), timeline_(timeline), limits_(limits), sink_(sink), problems_(problems) {}

  void connected(const registration::PeerConnected& event);
  void message(const registration::PeerMessage& event);
  void activity(const registration::ActivityRecords& event);
  void settled(const registration::Settled& event);
  // Registration itself dropped a message.
  void rejected(const registration::PeerRejected& event);
  // `now`: nothing the process did came after.
  void gone(const registration::PeerGone& event, TimeNs now);
  void ended(ProcessEntry& entry, TimeNs now);
  // It executed another program at `time`: what the agent said before is of memory that is no more.
  void executed(ProcessEntry& entry, TimeNs time);

 private:
  struct Said {
    ProcessEntry& entry;
    TimeNs time;
  };

  Status take(const Said& said, const v1::AgentMessage& message);
  Status take_plan(const Said& said, const v1::Plan& plan);
  Status take_code(const Said& said, const v1::CodeObject& code);
  Status take_code_unload(const Said& said, CodeId id);
  Status begin_execution(const Said& said, const v1::ExecutionBegin& begin);
  Status end_execution(const Said& said, const v1::ExecutionEnd& end);
  Status take_component(const Said& said, const v1::ComponentDeclare& component);
  Status take_thread(const Said& said, const v1::ThreadAdd& thread);
  Status take_region_kind(const Said& said, const v1::RegionKind& kind);
  void stop_agent(ProcessEntry& entry, TimeNs time, const char* why);
  void end_resync(ProcessEntry& entry);
  void end_running(ProcessEntry& entry, TimeNs time, const char* why, bool all);
  void tell_unloads(const ProcessEntry& entry, const std::vector<CodeId>& codes, TimeNs time);
  void tell_process(ProcessEntry& entry);
  void refuse(ProcessEntry& entry, const Error& error);

  ProcessTable& table_;
  const clock::Timeline& timeline_;
  const process::Limits& limits_;
  profile::ProfileSink& sink_;
  Problems& problems_;
};

}  // namespace tailor::pipeline
