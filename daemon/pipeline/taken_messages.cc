// What each kind of message changes and tells.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "daemon/pipeline/agent_messages.h"
#include "daemon/pipeline/checked_message.h"
#include "daemon/pipeline/message_use.h"
#include "daemon/profile/added_runs.h"
#include "daemon/profile/told_by.h"
#include "proto/base/errors.h"

namespace tailor::pipeline {
namespace {

// Where another thread has checked the message. It is used up.
CheckedMessage* checked_of(const std::shared_ptr<registration::LargeMessage>& large) {
  return large ? dynamic_cast<CheckedMessage*>(large->prepared.get()) : nullptr;
}

// The execution ended all the same: where what is said of its runs cannot be, it counts as one.
Status take_added_runs(const v1::ExecutionEnd& end, profile::ExecutionRecord& record) {
  if (!end.has_added_runs()) return Ok{};
  auto added = profile::decode_added_runs(end.added_runs());
  if (!added) return in_context(fmt::format("execution {}: ", end.handle()), added.error());
  record.added = std::make_shared<const profile::AddedRuns>(std::move(*added));
  return Ok{};
}

}  // namespace

Status AgentMessages::take(const Said& said, const v1::AgentMessage& message) {
  process::ProcessState& state = said.entry.state;
  switch (message.body_case()) {
    case v1::AgentMessage::kThreadAdd:
      return take_thread(said, message.thread_add());
    case v1::AgentMessage::kThreadRemove:
      state.remove_thread(message.thread_remove(), said.time);
      return Ok{};
    case v1::AgentMessage::kPlanLoad:
      return take_plan(said, message.plan_load());
    case v1::AgentMessage::kPlanUnload:
      return state.unload_plan(message.plan_unload().plan_id(), said.time);
    case v1::AgentMessage::kCodeLoad:
      return take_code(said, message.code_load());
    case v1::AgentMessage::kCodeUnload:
      return take_code_unload(said, message.code_unload().code_id());
    case v1::AgentMessage::kExecutionBegin:
      return begin_execution(said, message.execution_begin());
    case v1::AgentMessage::kExecutionEnd:
      return end_execution(said, message.execution_end());
    case v1::AgentMessage::kComponentDeclare:
      return take_component(said, message.component_declare());
    case v1::AgentMessage::kComponentCode:
      return state.add_component_code(message.component_code());
    case v1::AgentMessage::kRegionKind:
      return take_region_kind(said, message.region_kind());
    case v1::AgentMessage::kWaitNames:
      return take_wait_names(said, message.wait_names());
    case v1::AgentMessage::kNotice:
      take_notice(said, message.notice());
      return Ok{};
    case v1::AgentMessage::kBlocked:
      take_blocked(said, message.blocked());
      return Ok{};
    case v1::AgentMessage::kBarrier:  // answered by the owner of the socket
    case v1::AgentMessage::kGoodbye:  // the end of the connection follows
      return Ok{};
    default:
      return invalid("a message of a kind that is not known here");
  }
}

Status AgentMessages::take_plan(const Said& said, const v1::Plan& plan) {
  process::ProcessState& state = said.entry.state;
  CheckedMessage* checked = checked_of(said.large);
  auto loaded = checked != nullptr && checked->plan ? state.load_plan(std::move(*checked->plan), said.time)
                                                    : state.load_plan(plan, said.time);
  if (!loaded.ok()) return loaded.error();
  if (loaded->fresh) tell_plan(said, plan);
  return Ok{};
}

// Tags of before its process registered are believed by nobody.
void AgentMessages::tell_plan(const Said& said, const v1::Plan& plan) {
  const bool of_agent = !registration::speaks_for_another(said.entry.connection);
  const bool late = of_agent && std::max(said.time, said.entry.record.registered) < attributed_;
  const TimeNs late_until = late ? attributed_ : 0;
  if (said.large) {
    v1::Plan& told = *said.large->message().mutable_plan_load();
    if (late_until != told.late_until()) told.set_late_until(late_until);
    return sink_.on_shared_plan(said.entry.id(), said.time, {said.large, &told});
  }
  if (late_until == plan.late_until()) return sink_.on_plan(said.entry.id(), said.time, plan);
  v1::Plan told = plan;
  told.set_late_until(late_until);
  sink_.on_plan(said.entry.id(), said.time, told);
}

Status AgentMessages::take_code(const Said& said, const v1::CodeObject& code) {
  const TimeNs time =
      code.load_tsc() == 0 ? said.time : std::min(said.time, timeline_.to_ns(code.load_tsc()));
  process::ProcessState& state = said.entry.state;
  CheckedMessage* checked = checked_of(said.large);
  auto loaded = checked != nullptr && checked->code ? state.load_code(code, std::move(*checked->code), time)
                                                    : state.load_code(code, time);
  if (!loaded.ok() && loaded.error().kind == ErrorKind::kExhausted)
    return tell_without_keeping(said, time, code, loaded.error());
  if (!loaded.ok()) {
    if (code.plan_id() != 0 && !state.has_plan(code.plan_id())) ++said.entry.accounting.codes_without_plan;
    return loaded.error();
  }
  if (loaded->fresh) tell_code(said, time, code);
  return Ok{};
}

// Readers name samples by all code of jitdumps and perf maps, whenever it was told (query/load/late_names.h).
// So code that there is no room for here is told as well, of which nothing stays here. It counts for the
// user's part: the store has it.
Status AgentMessages::tell_without_keeping(const Said& said, TimeNs time, const v1::CodeObject& code,
                                           const Error& full) {
  if (!registration::speaks_for_another(said.entry.connection)) return full;
  if (said.entry.foreign_codes >= limits_.foreign_codes)
    return exhausted(fmt::format("code object {}: {} functions of jitdumps and perf maps are named already",
                                 code.id(), said.entry.foreign_codes));
  const auto rows = static_cast<std::size_t>(code.rows().offset_delta_size());
  said.entry.foreign_code_bytes += code.code().size() + rows * sizeof(process::CodeRow);
  tell_code(said, time, code);
  return Ok{};
}

// Whether it came too late for samples is for the daemon to say, except where it read a file itself.
void AgentMessages::tell_code(const Said& said, TimeNs time, const v1::CodeObject& code) {
  v1::ToldBy told_by = code.told_by();
  if (registration::speaks_for_another(said.entry.connection))
    ++said.entry.foreign_codes;
  else
    told_by = time < attributed_ ? profile::kToldByAgentLate : v1::TOLD_BY_AGENT;
  if (said.large) {
    v1::CodeObject& told = *said.large->message().mutable_code_load();
    if (told_by != told.told_by()) told.set_told_by(told_by);
    return sink_.on_shared_code(said.entry.id(), time, {said.large, &told});
  }
  if (told_by == code.told_by()) return sink_.on_code(said.entry.id(), time, code);
  v1::CodeObject late = code;
  late.set_told_by(told_by);
  sink_.on_code(said.entry.id(), time, late);
}

Status AgentMessages::take_code_unload(const Said& said, CodeId id) {
  Status unloaded = said.entry.state.unload_code(id, said.time);
  if (unloaded.ok()) sink_.on_code_unload(said.entry.id(), said.time, id);
  return unloaded;
}

Status AgentMessages::begin_execution(const Said& said, const v1::ExecutionBegin& begin) {
  auto& running = said.entry.running;
  said.entry.said_again.insert(begin.handle());
  if (begin.handle() == 0 || begin.id().size() != 16)
    return invalid("an execution without handle or identity");
  if (running.contains(begin.handle())) {
    if (said.entry.resync) return Ok{};
    return invalid(fmt::format("execution {}: began twice", begin.handle()));
  }
  if (running.size() >= limits_.executions) {
    return exhausted(fmt::format("execution {}: {} are running already", begin.handle(), running.size()));
  }
  profile::ExecutionRecord record;
  record.process = said.entry.id();
  record.handle = begin.handle();
  std::copy(begin.id().begin(), begin.id().end(), record.id.bytes.begin());
  record.plan = begin.plan_id();
  record.begin = said.time;
  record.heard = said.heard;
  record.uid = said.entry.uid;
  if (wall_clock_ns_ != 0)
    record.wall_begin_ns = wall_clock_ns_ + static_cast<std::uint64_t>(record.begin - recorded_from_);
  for (const v1::Label& label : begin.labels()) record.labels.emplace_back(label.key(), label.value());
  record.tags_off = begin.tags_off();
  record.drawn = profile::is_drawn(record, drawn_);
  if (!record.drawn) said.entry.not_drawn.begin(record.handle);
  if (record.tags_off) said.entry.untagged.begin(record.handle);
  sink_.on_execution(record);
  said.entry.running_bytes += bytes_of(record);
  said.entry.state.begin_execution(begin.handle(), begin.plan_id(), said.time);
  running.emplace(begin.handle(), RunningExecution{std::move(record)});
  return Ok{};
}

Status AgentMessages::end_execution(const Said& said, const v1::ExecutionEnd& end) {
  auto found = said.entry.running.extract(end.handle());
  if (found.empty()) return invalid(fmt::format("execution {}: ended, but did not begin", end.handle()));
  profile::ExecutionRecord& record = found.mapped().record;
  said.entry.running_bytes -= bytes_of(record);
  record.end = std::max(said.time, record.begin);
  said.entry.state.end_execution(end.handle(), record.end);
  said.entry.not_drawn.end(end.handle(), record.end);
  said.entry.untagged.end(end.handle(), record.end);
  record.rows_known = end.result_rows() != UINT64_MAX;
  record.rows = record.rows_known ? end.result_rows() : 0;
  record.error = end.error();
  Status added = take_added_runs(end, record);
  end_blockers(found.mapped());
  sink_.on_execution(record);
  said.entry.said_again.erase(end.handle());
  return added;
}

Status AgentMessages::take_component(const Said& said, const v1::ComponentDeclare& component) {
  auto declared = said.entry.state.declare_component(component);
  if (!declared.ok()) return declared.error();
  if (declared->fresh) sink_.on_component(said.entry.id(), component.id(), component.name());
  return Ok{};
}

Status AgentMessages::take_thread(const Said& said, const v1::ThreadAdd& thread) {
  Status added = said.entry.state.add_thread(thread, said.time);
  if (added.ok() && !thread.name().empty()) {
    sink_.on_thread(said.entry.id(), static_cast<std::int32_t>(thread.tid()), thread.name());
  }
  return added;
}

Status AgentMessages::take_region_kind(const Said& said, const v1::RegionKind& kind) {
  if (said.entry.region_kinds.contains(kind.id())) return Ok{};
  if (kind.id() == 0 || kind.id() > process::kHighestSaid)
    return invalid(fmt::format("a region kind has the impossible id {}", kind.id()));
  if (said.entry.region_kinds.size() >= limits_.region_kinds) {
    return exhausted(fmt::format("region kind {}: {} are declared already", kind.id(), limits_.region_kinds));
  }
  said.entry.region_kinds.insert(kind.id());
  sink_.on_region_kind(said.entry.id(), kind);
  return Ok{};
}

Status AgentMessages::take_wait_names(const Said& said, const v1::WaitNames& names) {
  const auto taken = waits_.take(names);
  // A table that others have, too, costs nothing more.
  if (taken != said.entry.waits) said.entry.waits_bytes = taken.use_count() > 2 ? 0 : bytes_of(names);
  said.entry.waits = taken;
  return Ok{};
}

// An agent that connects again says all of them again.
void AgentMessages::take_notice(const Said& said, const v1::Notice& notice) {
  const std::uint32_t kind = 1u << notice.kind();
  if ((said.entry.notices & kind) != 0) return;
  said.entry.notices |= kind;
  said.entry.record.agent_notices.push_back(notice.text());
  said.entry.notices_bytes += notice.text().size() + kNode;
  tell_process(said.entry);
  problems_.add(said.entry.id(), "its agent says: " + notice.text());
}

void AgentMessages::take_blocked(const Said& said, const v1::Blocked& blocked) {
  const TimeNs since = timeline_.to_ns(blocked.since_tsc());
  const RunningExecution* execution = lock_waits_.take(said.entry, said.time, since, blocked);
  if (execution != nullptr) sink_.on_execution(execution->record);
}

}  // namespace tailor::pipeline
