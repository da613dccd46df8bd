// The part of Recorder that decides what is sampled, and how: as events begin and end.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/os/host_files.h"
#include "daemon/session/host_info.h"
#include "daemon/session/recorder.h"
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

void Recorder::tell_ended(ProcessId process, const RecordingEnded& ended, bool goes_on) {
  input_.on_capture_ended({process, ended.time, goes_on, ended.counts.filtered, ended.counts.filtered_samples,
                           ended.counts.broken_rings});
}

void Recorder::recording_ended(const RecordingEnded& ended) {
  const auto known = std::ranges::find(sampled_, ended.recording, &ProcessSampling::recording);
  if (known == sampled_.end()) {
    if (const auto replaced = replaced_.extract(ended.recording)) tell_ended(replaced.mapped(), ended, true);
    return;
  }
  const ProcessSampling before = std::move(*known);
  sampled_.erase(known);
  overhead_.end(before.process);
  tell_ended(before.process, ended, false);
  if (before.state() != SamplingState::kPausing) cpu_.look(before.process, before.user_mode_only);
  cpu_.end(before.process);
  switch (before.state()) {
    case SamplingState::kPausing:
      if (!ending_) paused(before, ended.time);
      return;
    case SamplingState::kLeaving:
      return;
    case SamplingState::kReopening:
      if (!ending_ && reopen(before)) return;
      break;
    case SamplingState::kSampling:
      break;
  }
  input_.advance(os_.now());
  input_.on_process_ended(before.process);
}

// False if the process has ended meanwhile.
bool Recorder::reopen(const ProcessSampling& before) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  const TimeNs pause = os_.now() - before.reopened();
  Status again =
      sample({before.process, comm_of(os_, before.process.pid)}, options,
             fmt::format("earlier PEBS samples may be stamped late, by as much as the buffer held; "
                         "then {} ms without samples",
                         pause / 1'000'000));
  if (again.ok()) {
    sampled_.back().on_request = before.on_request;
    sampled_.back().by_rule = before.by_rule;
    return true;
  }
  if (again.error().code == ESRCH) return false;
  not_sampled_[before.process] = again.error().message;
  on_problem_({before.process, again.error().message});
  return true;
}

Status Recorder::sample(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
                        const std::string& note) {
  capture::CaptureOptions settled = options;
  const std::string fallback = pebs_trust_.settle(settled, clock_.model().perf_line().has_value(), os_.now());
  if (overhead_.enabled()) {
    // Periods change by other events in the place of the old ones, which a BPF program shares with everybody.
    if (settled.sampled_by == capture::SampledBy::kBpf) {
      return invalid("--max-overhead: not where BPF takes the samples; leave out --sampler bpf");
    }
    settled.sampled_by = capture::SampledBy::kPerf;
    bpf::settle_stacks_for_perf(settled);  // their cost counts
    Status governed = overhead_.begin(process.process, os_.now(), settled);
    if (!governed.ok()) return governed;
  }
  auto attached = reader_->attach(process.process.pid, settled);
  if (!attached.ok()) {
    overhead_.end(process.process);
    return attached.error();
  }
  if (!fallback.empty()) attached->notes.push_back(fallback);
  if (!note.empty()) attached->notes.push_back(note);
  pipeline::KnownProcess known = process;
  known.cgroup = cgroup_of(os_, process.process.pid);
  // Read after the events were opened: what is mapped from then on they tell.
  if (capture::wants_memory_map(settled)) known.memory = memory_of(os_, process.process.pid);
  input_.on_known_process(known);
  if (recording_.sources.size() != attached->sources.size()) recording_.sources = attached->sources;
  notes_ = attached->notes;
  recording_.aggregated_ns =
      std::max(recording_.aggregated_ns, static_cast<std::uint64_t>(attached->adds_up));
  tell_recording(process.process);
  ProcessSampling sampled(process.process, attached->id);
  sampled.options = options;
  sampled.large_pebs = uses_large_pebs(settled);
  sampled.reads_slots = attached->reads_slots;
  sampled.user_mode_only = attached->user_mode_only;
  sampled.renews = attached->renews;
  if (!attached->redraws) sampled.redraw = next_redraw(settled, os_.now());
  if (settled.placement == capture::Placement::kAuto && only_timers(settled))
    sampled.births.emplace(settled.events.front().period);
  cpu_.begin(process.process, attached->user_mode_only);
  sampled_.push_back(std::move(sampled));
  if (!is_registered(process.process)) {
    const auto names = names_from_.find(process.process);
    foreign_.add(process.process, names == names_from_.end() ? NamesFrom::kAuto : names->second);
  }
  return Ok{};
}

bool Recorder::is_sampled(ProcessId process) const {
  return std::any_of(sampled_.begin(), sampled_.end(),
                     [&](const ProcessSampling& each) { return each.process == process; });
}

bool Recorder::is_registered(ProcessId process) {
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  return entry != nullptr && entry->connection != 0;
}

// "" if the process is sampled, else why not.
std::string Recorder::sample_registered(const registration::PeerConnected& event) {
  if (is_sampled(event.process)) return {};
  if (std::string why = ignore_if_told(event.process); !why.empty()) return why;
  if (std::string why = pause_if_all_are(event.process); !why.empty()) return why;
  Status sampled = sample(known_process(os_, event.process), options_.capture);
  if (sampled.ok()) return {};
  not_sampled_[event.process] = sampled.error().message;
  on_problem_({event.process, sampled.error().message});
  return sampled.error().message;
}

void Recorder::tell_unread_slots(const registration::PeerConnected& event) {
  if (event.hello.tag_strategy() != v1::TAGS_MEMORY_SLOT) return;
  auto sampled = std::ranges::find(sampled_, event.process, &ProcessSampling::process);
  if (sampled == sampled_.end()) {  // a child of one that is sampled with its children
    sampled = std::ranges::find_if(sampled_,
                                   [](const ProcessSampling& each) { return each.options.follow_children; });
  }
  if (sampled == sampled_.end()) return;
  if (sampled->reads_slots && event.hello.tag_slot_offset() != 0) return;
  const char* why = sampled->reads_slots ? "its agent does not say where" : "only a BPF program reads them";
  on_problem_(
      {event.process,
       fmt::format("it keeps tags in memory slots, and {}: shared code has no tag, and is told by call "
                   "stacks where they are sampled (docs/tags.md)",
                   why)});
}

}  // namespace tailor::session
