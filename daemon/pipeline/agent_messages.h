// Brings what agents say into the process table and, what belongs there, into the profile.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/clock/timeline.h"
#include "daemon/pipeline/lock_waits.h"
#include "daemon/pipeline/problems.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/pipeline/shares.h"
#include "daemon/profile/draw.h"
#include "daemon/profile/sink.h"
#include "daemon/registration/events.h"

namespace tailor::pipeline {

// Refusals are counted in the process's accounting and told as problems. One thread; everything passed to the
// constructor must outlive it.
class AgentMessages {
 public:
  AgentMessages(ProcessTable& table, const clock::Timeline& timeline, const process::Limits& limits,
                profile::ProfileSink& sink, Problems& problems, Shares& shares, bool all_marks)
      : table_(table),
        timeline_(timeline),
        limits_(limits),
        sink_(sink),
        problems_(problems),
        shares_(shares),
        all_marks_(all_marks) {}

  // Samples up to then were given out.
  void attributed(TimeNs watermark) { attributed_ = watermark; }

  // The recording began then: what logs say of before is believed, but it was another recording's to keep and
  // count.
  // `wall_clock_ns`: CLOCK_REALTIME of `start`, 0 unknown.
  // `drawn`: of the executions that begin from now on.
  void recorded(TimeNs start, std::uint64_t wall_clock_ns, profile::DrawnPpm drawn) {
    recorded_from_ = start;
    wall_clock_ns_ = wall_clock_ns;
    drawn_ = drawn;
  }

  void connected(const registration::PeerConnected& event);
  void message(const registration::PeerMessage& event) { took_ = take_message(event); }
  // Whether the last message was taken; if not, nobody else is to keep anything of it.
  bool took() const { return took_; }
  void activity(const registration::ActivityRecords& event);
  void settled(const registration::Settled& event);
  // Registration itself dropped a message.
  void rejected(const registration::PeerRejected& event);
  // How many messages the agent has dropped, and how many it still had when it stopped.
  void dropped(ProcessId process, std::uint64_t messages);
  void unsent(ProcessId process, std::uint64_t messages);
  // `now`: nothing the process did came after.
  void gone(const registration::PeerGone& event, TimeNs now);
  void ended(ProcessEntry& entry, TimeNs now);
  // Gives out the records of logs that are kept, as far as they are known.
  void flush(TimeNs now);
  // It executed another program at `time`: what the agent said before is of memory that is no more.
  void executed(ProcessEntry& entry, TimeNs time);

  // Told to the agents: limits that were reached since the last call.
  struct Limited {
    registration::ConnectionId connection = 0;
    LimitReached limit;
    std::uint64_t refused = 0;  // of that process, so far
  };
  std::vector<Limited> take_limited();
  // What was refused by each limit since the start.
  const std::map<std::string, std::uint64_t>& refused_by_limit() const { return refused_; }
  WaitNames& waits() { return waits_; }
  // What the process keeps now; to be called when it may have become less.
  void measure(ProcessEntry& entry);

 private:
  struct Said {
    ProcessEntry& entry;
    TimeNs time;
    TimeNs heard;
    std::shared_ptr<registration::LargeMessage> large = {};  // what was said, where it is one
  };

  bool take_message(const registration::PeerMessage& event);
  std::vector<profile::ActivityRecord> take_records(ProcessEntry& entry,
                                                    const registration::ActivityRecords& event);
  void keep_up_to(ProcessEntry& entry, TimeNs time, bool all);
  Status take(const Said& said, const v1::AgentMessage& message);
  Status take_plan(const Said& said, const v1::Plan& plan);
  void tell_plan(const Said& said, const v1::Plan& plan);
  Status take_code(const Said& said, const v1::CodeObject& code);
  Status tell_without_keeping(const Said& said, TimeNs time, const v1::CodeObject& code, const Error& full);
  void tell_code(const Said& said, TimeNs time, const v1::CodeObject& code);
  Status take_code_unload(const Said& said, CodeId id);
  Status begin_execution(const Said& said, const v1::ExecutionBegin& begin);
  Status end_execution(const Said& said, const v1::ExecutionEnd& end);
  Status take_component(const Said& said, const v1::ComponentDeclare& component);
  Status take_thread(const Said& said, const v1::ThreadAdd& thread);
  Status take_region_kind(const Said& said, const v1::RegionKind& kind);
  Status take_wait_names(const Said& said, const v1::WaitNames& names);
  void take_notice(const Said& said, const v1::Notice& notice);
  void take_blocked(const Said& said, const v1::Blocked& blocked);
  void stop_agent(ProcessEntry& entry, TimeNs time, const char* why);
  void end_resync(ProcessEntry& entry);
  static void note_work(ProcessEntry& entry, const tailor_log_record& mark, TimeNs time);
  void end_running(ProcessEntry& entry, TimeNs time, const char* why, bool all);
  void tell_unloads(const ProcessEntry& entry, const std::vector<CodeId>& codes, TimeNs time);
  void tell_process(ProcessEntry& entry);
  void refuse(ProcessEntry& entry, const Error& error);
  void reach(ProcessEntry& entry, LimitReached limit, std::uint64_t refused);
  bool may_take_records(ProcessEntry& entry, const registration::ActivityRecords& event);

  ProcessTable& table_;
  const clock::Timeline& timeline_;
  const process::Limits& limits_;
  profile::ProfileSink& sink_;
  Problems& problems_;
  Shares& shares_;
  bool all_marks_;  // of the logs everything is kept, not only what KeptActivity does
  TimeNs recorded_from_ = kTimeMin;
  TimeNs attributed_ = kTimeMin;
  std::uint64_t wall_clock_ns_ = 0;  // of recorded_from_
  profile::DrawnPpm drawn_ = profile::kAllDrawn;
  bool took_ = false;
  std::map<std::string, std::uint64_t> refused_;
  std::vector<Limited> limited_;
  WaitNames waits_;
  LockWaits lock_waits_{table_};
};

}  // namespace tailor::pipeline
