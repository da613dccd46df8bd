#include "daemon/session/sampled_processes.h"

#include <algorithm>
#include <utility>

#include "daemon/bpf/opener.h"
#include "daemon/session/known_process.h"
#include "daemon/session/pebs_probe.h"
#include "daemon/session/redraw.h"

namespace tailor::session {
namespace {

// Of the events of a CPU nothing else is worth what it costs others: every switch, every fault.
bool only_timers(const capture::CaptureOptions& options) {
  return !options.context_switches &&
         std::ranges::all_of(options.events, [](const capture::EventSpec& event) {
           return event.mechanism == capture::Mechanism::kTimer;
         });
}

}  // namespace

Status SampledProcesses::settle(ProcessId process, capture::CaptureOptions& options, std::string& note) {
  const TimeNs now = os_.now();
  note = pebs_trust_.settle(options, now);
  if (!overhead_.enabled()) return Ok{};
  // Periods change by other events in the place of the old ones, which a BPF program shares with everybody.
  if (options.sampled_by == capture::SampledBy::kBpf) {
    return invalid("--max-overhead cannot be held where BPF takes the samples: leave out --sampler bpf");
  }
  options.sampled_by = capture::SampledBy::kPerf;
  bpf::settle_stacks_for_perf(options);  // their cost counts
  return overhead_.begin(process, now, options);
}

// With --max-overhead perf takes the samples.
bool SampledProcesses::may_open(const capture::CaptureOptions& options) {
  if (!is_ready_ || overhead_.enabled()) return true;
  capture::CaptureOptions settled = options;
  (void)pebs_trust_.settle(settled, os_.now());
  return is_ready_(settled);
}

void SampledProcesses::took(ProcessSampling& sampled, const capture::CaptureOptions& settled,
                            const capture::Attached& attached) {
  sampled.large_pebs = uses_large_pebs(settled);
  sampled.reads_slots = attached.reads_slots;
  sampled.user_mode_only = attached.user_mode_only;
  sampled.renews = attached.renews;
  sampled.redraw = attached.redraws ? kTimeMax : next_redraw(settled, os_.now());
  sampled.births.reset();
  sampled.may_move = settled.placement == capture::Placement::kAuto;
  if (settled.placement == capture::Placement::kAuto && only_timers(settled))
    sampled.births.emplace(settled.events.front().period);
}

Status SampledProcesses::open_running(ProcessId process, const capture::CaptureOptions& options,
                                      const Origin& origin) {
  return open({process, comm_of(os_.proc(), process.pid)}, options, origin);
}

Status SampledProcesses::open(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
                              const Origin& origin, const std::string& note) {
  const ProcessId id = process.process;
  capture::CaptureOptions settled = options;
  std::string fallback;
  if (Status done = settle(id, settled, fallback); !done.ok()) return done;
  const TimeNs since = os_.now();
  auto attached = reader_.attach(id.pid, settled);
  if (!attached.ok()) {
    overhead_.end(id);
    return attached.error();
  }
  if (!fallback.empty()) attached->notes.push_back(fallback);
  if (!note.empty()) attached->notes.push_back(note);
  pipeline::KnownProcess known = process;
  known.cgroup = cgroup_of(os_.proc(), id.pid);
  known.rules = origin.rules;
  input_.on_known_process(known);
  if (on_opened_) on_opened_(known);
  // What a program maps from its begin on is in the rings.
  if (!settled.enable_on_exec) looks_.begin(id, since, capture::wants_memory_map(settled));
  notes_.opened(id, *attached);
  ProcessSampling sampled(id, attached->id, states_);
  sampled.apply(SamplingEvent::kOpen);
  sampled.options = options;
  sampled.origin = origin;
  took(sampled, settled, *attached);
  cpu_.begin(id, attached->user_mode_only);
  sampled_.push_back(std::move(sampled));
  ++opened_;
  foreign_.add(id, origin.names);
  return Ok{};
}

Status SampledProcesses::change(ProcessSampling& sampled, const capture::CaptureOptions& options) {
  capture::CaptureOptions settled = options;
  std::string fallback;
  if (Status done = settle(sampled.process, settled, fallback); !done.ok()) return done;
  const TimeNs since = os_.now();
  auto attached = replace(sampled, settled);
  if (!attached.ok()) {
    capture::CaptureOptions before = sampled.options;
    (void)settle(sampled.process, before, fallback);  // it went well when they were opened
    return attached.error();
  }
  if (!fallback.empty()) attached->notes.push_back(fallback);
  // Of memory that is not code nobody has asked until now.
  const bool wants_memory = capture::wants_memory_map(options);
  if (wants_memory && !capture::wants_memory_map(sampled.options)) looks_.again(sampled.process, since, true);
  sampled.options = options;
  sampled.options.followed.clear();
  took(sampled, settled, *attached);
  notes_.set(sampled.process, attached->notes);
  return Ok{};
}

Result<capture::Attached> SampledProcesses::replace(ProcessSampling& sampled,
                                                    const capture::CaptureOptions& options) {
  auto attached = reader_.replace(sampled.recording, sampled.process.pid, options);
  if (attached.ok()) replaced_.emplace(std::exchange(sampled.recording, attached->id), sampled.process);
  return attached;
}

bool SampledProcesses::leave(ProcessSampling& sampled, SamplingEvent how, const std::string& why) {
  const bool open = sampled.is_sampling();
  if (!sampled.apply(how)) return false;
  states_.set_why_not(sampled.process, why);
  if (open) close(sampled);
  return true;
}

std::optional<SampledProcesses::Ended> SampledProcesses::ended(const RecordingEnded& ended) {
  const auto known = std::ranges::find(sampled_, ended.recording, &ProcessSampling::recording);
  if (known == sampled_.end()) {
    if (const auto replaced = replaced_.extract(ended.recording)) tell_ended(replaced.mapped(), ended, true);
    return std::nullopt;
  }
  ProcessSampling before = std::move(*known);
  sampled_.erase(known);
  const SamplingState state = before.state();
  before.apply(SamplingEvent::kClosed);
  overhead_.end(before.process);
  tell_ended(before.process, ended, false);
  // Of one that was paused it was looked at then.
  if (state != SamplingState::kPausing) cpu_.look(before.process, before.user_mode_only);
  cpu_.end(before.process);
  return Ended{std::move(before), state};
}

bool SampledProcesses::contains(ProcessId process) const {
  return std::ranges::find(sampled_, process, &ProcessSampling::process) != sampled_.end();
}

ProcessSampling* SampledProcesses::find(ProcessId process) {
  const auto found = std::ranges::find(sampled_, process, &ProcessSampling::process);
  return found == sampled_.end() ? nullptr : &*found;
}

const ProcessSampling* SampledProcesses::first_with_children() const {
  const auto found = std::ranges::find_if(
      sampled_, [](const ProcessSampling& each) { return each.options.follow_children; });
  return found == sampled_.end() ? nullptr : &*found;
}

void SampledProcesses::tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on) {
  input_.on_capture_ended({process, ended.time, goes_on, ended.counts.filtered, ended.counts.filtered_samples,
                           ended.counts.broken_rings});
  notes_.add_counted(process, ended.counts.times);
}

}  // namespace tailor::session
