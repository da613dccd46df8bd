#include "daemon/pipeline/agent_messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/clock/growing_times.h"
#include "daemon/pipeline/message_use.h"
#include "daemon/pipeline/renumbered.h"
#include "proto/base/errors.h"

namespace tailor::pipeline {

void AgentMessages::connected(const registration::PeerConnected& event) {
  const TimeNs time = timeline_.to_ns(event.received_tsc);
  ProcessEntry& entry = table_.get(event.process, time);
  const bool same = entry.state.registered_at(time) && entry.agent_instance == event.hello.instance();
  if (same) {
    entry.state.start_resync(event.connection);
    entry.resync = true;
    entry.resync_since = time;
    entry.said_again.clear();
  } else {
    stop_agent(entry, time, "its agent was replaced");
    entry.notices = 0;
    entry.notices_bytes = 0;
    entry.record.agent_notices.clear();
    const bool own = !registration::speaks_for_another(event.connection);
    entry.state.start_agent(event.connection, event.hello.tag_key(), time, own);
    if (own) sink_.on_component(entry.id(), process::kStartComponent, process::kStartComponentName);
    entry.record.registered = time;
  }
  entry.share = Shares::Share(shares_, event.uid);
  measure(entry);
  entry.connection = event.connection;
  entry.uid = event.uid;
  entry.record.uid = event.uid;
  entry.agent_instance = event.hello.instance();
  if (!registration::speaks_for_another(event.connection)) entry.begin_counts();
  entry.settled = kTimeMin;
  entry.record.engine_name = event.hello.engine_name();
  entry.record.engine_version = event.hello.engine_version();
  entry.record.agent_version = event.hello.agent_version();
  entry.record.tag_key = event.hello.tag_key();
  entry.record.tag_strategy = static_cast<std::uint32_t>(event.hello.tag_strategy());
  entry.state.set_tags_in_memory(event.hello.tag_strategy() == v1::TAGS_MEMORY_SLOT);
  if (!registration::speaks_for_another(event.connection)) lock_waits_.met(entry, event.hello.pid());
  if (entry.record.first_seen == 0) entry.record.first_seen = time;
  tell_process(entry);
}

bool AgentMessages::take_message(const registration::PeerMessage& event) {
  ProcessEntry* entry = table_.find(event.process);
  if (entry == nullptr || entry->connection != event.connection) {
    problems_.add(event.process, "a message of an agent that did not say hello");
    return false;
  }
  ++entry->accounting.messages;
  entry->accounting_changed = true;
  LimitReached limit;
  if (!entry->share.may_take(wanted(event.said()), limit)) {
    refuse(*entry, invalid(limit.text));
    reach(*entry, std::move(limit), 1);
    return false;
  }
  const Renumbered said(event, entry->state);
  const v1::AgentMessage& message = said.message();
  const std::uint64_t tsc = message.tsc() != 0 ? message.tsc() : event.received_tsc;
  const TimeNs heard = timeline_.to_ns(event.received_tsc);
  const TimeNs time = timeline_.to_ns(std::min(tsc, event.received_tsc));
  Status taken = take({*entry, time, heard, said.large()}, message);
  if (!taken.ok()) refuse(*entry, taken.error());
  measure(*entry);
  return taken.ok();
}

void AgentMessages::dropped(ProcessId process, std::uint64_t messages) {
  ProcessEntry* entry = table_.find(process);
  if (entry == nullptr) return;
  entry->accounting.agent_dropped = entry->dropped_before + messages;
  entry->accounting_changed = true;
}

void AgentMessages::unsent(ProcessId process, std::uint64_t messages) {
  ProcessEntry* entry = table_.find(process);
  if (entry == nullptr) return;
  entry->accounting.agent_unsent = entry->unsent_before + messages;
  entry->accounting_changed = true;
}

void AgentMessages::measure(ProcessEntry& entry) {
  const process::ProcessState& state = entry.state;
  entry.share.set({state.bytes() + entry.running_bytes + entry.region_kinds.size() * kNode +
                       entry.waits_bytes + entry.notices_bytes,
                   state.live_plans(), state.code_bytes() + entry.foreign_code_bytes, state.region_count()});
}

void AgentMessages::reach(ProcessEntry& entry, LimitReached limit, std::uint64_t refused) {
  constexpr std::size_t kMost = 1024;
  refused_[limit.key] += refused;
  const std::uint64_t of_process = entry.refused[limit.key] += refused;
  if (limited_.size() < kMost) limited_.push_back({entry.connection, std::move(limit), of_process});
}

std::vector<AgentMessages::Limited> AgentMessages::take_limited() {
  return std::exchange(limited_, {});
}

// Marks that there is no room for are as good as lost.
bool AgentMessages::may_take_records(ProcessEntry& entry, const registration::ActivityRecords& event) {
  LimitReached limit;
  const std::size_t bytes = event.records.size() * (sizeof(process::ThreadContext) + sizeof(TimeNs));
  if (entry.share.may_take({.bytes = bytes}, limit)) return true;
  entry.accounting.log_lost += event.records.size();
  (void)entry.state.lose_activity(event.tid);
  reach(entry, std::move(limit), event.records.size());
  return false;
}

void AgentMessages::activity(const registration::ActivityRecords& event) {
  ProcessEntry* entry = table_.find(event.process);
  if (entry == nullptr) return;
  const TimeNs from = std::max(recorded_from_, entry->record.registered);
  const bool lost_before = !event.records.empty() && timeline_.to_ns(event.records.front().tsc) < from;
  if (!lost_before) entry->accounting.log_lost += event.lost;
  entry->accounting_changed = true;
  // What comes after is known of no execution and no component, also where what comes is refused.
  if (event.lost > 0) (void)entry->state.lose_activity(event.tid);
  if (!event.records.empty() && !may_take_records(*entry, event)) return;
  const std::vector<profile::ActivityRecord> kept = take_records(*entry, event);
  measure(*entry);
  if (!kept.empty()) sink_.on_activity(kept);
}

// What is to be kept of them.
std::vector<profile::ActivityRecord> AgentMessages::take_records(ProcessEntry& entry,
                                                                 const registration::ActivityRecords& event) {
  std::vector<profile::ActivityRecord> kept;
  std::size_t regions_left = entry.share.regions_left(), regions_refused = 0;
  // Of a thread that is not known only what it says of memory is of use.
  Result<process::ThreadTimeline*> line = entry.state.timeline(event.tid);
  KeptActivity* keep = nullptr;
  if (line.ok() && !all_marks_)
    keep = &entry.kept.try_emplace(event.tid, entry.id(), event.tid).first->second;
  if (keep != nullptr && event.lost > 0) keep->change((*line)->now(), (*line)->last(), kept);
  clock::GrowingTimes times(timeline_);
  const process::AgentNumbers numbers = entry.state.numbers();
  for (const tailor_log_record& said : event.records) {
    const tailor_log_record record = numbers.change() ? renumbered(said, numbers) : said;
    const TimeNs time = times.to_ns(record.tsc);
    if (record.kind == TAILOR_LOG_REGION_ADD) {
      if (regions_left == 0) {
        ++regions_refused;
        continue;
      }
      --regions_left;
    }
    if (entry.state.add_region(event.tid, record, time)) {
      if (line.ok()) (*line)->seen(time);
    } else if (line.ok()) {
      entry.state.add_mark(**line, record, time);
    } else {
      refuse(entry, line.error());
      break;
    }
    note_work(entry, record, time);
    // What was before is another recording's to keep; what holds since then is this one's.
    if (keep != nullptr) keep->change((*line)->now(), std::max(time, recorded_from_), kept);
    if (time < recorded_from_) continue;
    ++entry.accounting.log_records;
    const bool as_it_is = all_marks_ || record.kind == TAILOR_LOG_ITERATION;
    if (!as_it_is) continue;
    if (keep != nullptr) keep->settle(time, kept);
    kept.push_back({time, event.process, event.tid, static_cast<tailor_log_kind>(record.kind), record.id,
                    record.a, record.b});
  }
  if (regions_refused > 0) {
    reach(entry,
          {"user-regions", fmt::format("regions of memory beyond its part of the user's quota (user-regions: "
                                       "{}) are not known",
                                       limits_.user_regions)},
          regions_refused);
  }
  return kept;
}

void AgentMessages::keep_up_to(ProcessEntry& entry, TimeNs time, bool all) {
  std::vector<profile::ActivityRecord> kept;
  for (auto thread = entry.kept.begin(); thread != entry.kept.end();) {
    if (all) thread->second.settle(time, kept);
    if (!all) thread->second.advance(time, kept);
    thread = thread->second.idle() ? entry.kept.erase(thread) : std::next(thread);
  }
  if (!kept.empty()) sink_.on_activity(kept);
}

void AgentMessages::settled(const registration::Settled& event) {
  ProcessEntry* entry = table_.find(event.process);
  if (entry == nullptr) return;
  entry->settled = std::max(entry->settled, timeline_.to_ns(event.tsc));
  keep_up_to(*entry, entry->settled, false);
  if (entry->resync) end_resync(*entry);
}

void AgentMessages::rejected(const registration::PeerRejected& event) {
  ProcessEntry* entry = table_.find(event.process);
  if (entry == nullptr) return;
  ++entry->accounting.messages;
  refuse(*entry, invalid(event.what));
}

void AgentMessages::gone(const registration::PeerGone& event, TimeNs now) {
  ProcessEntry* entry = table_.find(event.process);
  if (entry == nullptr || entry->connection != event.connection) return;
  entry->connection = 0;
  entry->resync = false;
  if (event.reason == registration::GoneReason::kGoodbye) stop_agent(*entry, now, "its agent was stopped");
  if (event.reason == registration::GoneReason::kProcessExit) ended(*entry, now);
  const bool closed = event.reason == registration::GoneReason::kProtocol ||
                      event.reason == registration::GoneReason::kRefused;
  if (closed) problems_.add(event.process, event.detail);
}

void AgentMessages::flush(TimeNs now) {
  table_.for_each([&](ProcessEntry& entry) { keep_up_to(entry, now, true); });
}

void AgentMessages::ended(ProcessEntry& entry, TimeNs now) {
  keep_up_to(entry, now, true);
  stop_agent(entry, now, "the process ended before it did");
  entry.ended = std::min(entry.ended, now);
}

void AgentMessages::executed(ProcessEntry& entry, TimeNs time) {
  const bool said_before = entry.record.registered != kTimeMin && entry.record.registered < time;
  if (said_before && entry.state.registered_at(time))
    stop_agent(entry, time, "the process executed another program");
}

void AgentMessages::stop_agent(ProcessEntry& entry, TimeNs time, const char* why) {
  tell_unloads(entry, entry.state.stop_agent(time), time);
  end_running(entry, time, why, true);
  entry.region_kinds.clear();
  entry.resync = false;
}

void AgentMessages::end_resync(ProcessEntry& entry) {
  entry.resync = false;
  tell_unloads(entry, entry.state.end_resync(entry.resync_since), entry.resync_since);
  end_running(entry, entry.resync_since, "its end was not heard", false);
}

// A process that exits at once takes along the message that an execution has ended; the marks of its threads
// lie in shared memory.
void AgentMessages::note_work(ProcessEntry& entry, const tailor_log_record& mark, TimeNs time) {
  const bool begins = mark.kind == TAILOR_LOG_EXECUTION_BEGIN;
  if (!begins && mark.kind != TAILOR_LOG_EXECUTION_END) return;
  const auto found = entry.running.find(mark.a);
  if (found == entry.running.end()) return;
  RunningExecution& running = found->second;
  if (begins) {
    ++running.at_work;
    return;
  }
  running.at_work -= running.at_work > 0;
  running.last_mark_end = std::max(running.last_mark_end, time);
}

// Ends the running executions; without `all` only those that were not said again.
void AgentMessages::end_running(ProcessEntry& entry, TimeNs time, const char* why, bool all) {
  for (auto it = entry.running.begin(); it != entry.running.end();) {
    if (!all && entry.said_again.contains(it->first)) {
      ++it;
      continue;
    }
    profile::ExecutionRecord& record = it->second.record;
    entry.running_bytes -= bytes_of(record);
    const bool over = it->second.seems_over();
    record.end = std::max(over ? std::min(time, it->second.last_mark_end) : time, record.begin);
    entry.state.end_execution(it->first, record.end);
    entry.not_drawn.end(it->first, record.end);
    entry.untagged.end(it->first, record.end);
    record.rows_known = false;
    if (!over) record.error = why;
    end_blockers(it->second);
    sink_.on_execution(record);
    it = entry.running.erase(it);
  }
  entry.said_again.clear();
}

void AgentMessages::tell_unloads(const ProcessEntry& entry, const std::vector<CodeId>& codes, TimeNs time) {
  for (CodeId code : codes) sink_.on_code_unload(entry.id(), time, code);
}

void AgentMessages::tell_process(ProcessEntry& entry) {
  entry.untold_parents.tell(sink_);
  sink_.on_process(entry.record);
  entry.record_changed = false;
}

void AgentMessages::refuse(ProcessEntry& entry, const Error& error) {
  ++entry.accounting.messages_rejected;
  entry.accounting_changed = true;
  std::string text = error.message;
  // What was lost may be what this message needs.
  if (const std::uint64_t lost = entry.accounting.agent_dropped; lost > 0)
    text += fmt::format(" (so far {} of this process {} lost before {} reached the daemon)",
                        lost == 1 ? "1 message" : fmt::format("{} messages", lost),
                        lost == 1 ? "was" : "were", lost == 1 ? "it" : "they");
  problems_.add(entry.id(), std::move(text));
}

}  // namespace tailor::pipeline
