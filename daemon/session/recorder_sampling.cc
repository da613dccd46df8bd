// The part of Recorder that decides what is sampled, and how: as events begin, change their period, stop
// being trusted and end.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/capture/select/jitter.h"
#include "daemon/os/host_files.h"
#include "daemon/session/host_info.h"
#include "daemon/session/pebs_probe.h"
#include "daemon/session/recorder.h"

namespace tailor::session {
namespace {

// A recording by perf is replaced for new periods: seldom, because its threads lose half a period each.
constexpr TimeNs kRedrawsApart = 10;  // times redraw_after()

// When the periods of what was opened just now are to be drawn anew. Not those of PEBS: what is replaced
// would have to be looked at anew for the times of its records.
TimeNs next_redraw(const capture::CaptureOptions& options, TimeNs now) {
  TimeNs after = 0;
  for (const capture::EventSpec& event : options.events) {
    if (event.mechanism == capture::Mechanism::kPebs) return kTimeMax;
    if (capture::is_jittered(event)) after = std::max(after, kRedrawsApart * capture::redraw_after(event));
  }
  return options.jitter && after > 0 ? now + after : kTimeMax;
}

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

void Recorder::session_ended(const RecordingEnded& ended) {
  const auto known = std::ranges::find(sampled_, ended.session, &Sampled::session);
  if (known == sampled_.end()) {
    if (const auto replaced = replaced_.extract(ended.session)) tell_ended(replaced.mapped(), ended, true);
    return;
  }
  const Sampled before = std::move(*known);
  sampled_.erase(known);
  overhead_.end(before.process);
  tell_ended(before.process, ended, false);
  if (!before.pausing) look_at_cpu_time(before);
  coverage_.end(before.process);
  if (before.pausing && !ending_) return paused(before, ended.time);
  if (before.detached) return;
  if (before.reopened != kTimeMin && !ending_ && reopen(before)) return;
  input_.advance(os_.now());
  input_.on_process_ended(before.process);
}

// False if the process has ended meanwhile.
bool Recorder::reopen(const Sampled& before) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  const TimeNs pause = os_.now() - before.reopened;
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

// The kernel may stamp PEBS records otherwise than the trial found, or begin to: then every recording that
// relies on their own times goes on with an interrupt per sample.
void Recorder::watch_pebs() {
  const TimeNs now = os_.now();
  pebs_trust_.note_clock(clock_.model().perf_line().has_value(), now);
  const auto relies = [](const Sampled& each) {
    return each.large_pebs && each.reopened == kTimeMin && !each.detached;
  };
  if (!std::ranges::any_of(sampled_, relies)) return;
  const std::string doubt = pebs_trust_.doubt(pipeline_.pebs_times_doubted(), now);
  if (doubt.empty()) return;
  for (Sampled& each : sampled_) {
    if (!relies(each)) continue;
    each.reopened = now;
    on_problem_({each.process, "an interrupt per PEBS sample from now on: " + doubt});
    reader_->remove(each.session);
  }
}

std::uint64_t Recorder::on_cpu_ns_of(ProcessId process) {
  const pipeline::ProcessEntry* entry = pipeline_.processes().find(process);
  return entry == nullptr ? 0 : entry->accounting.on_cpu_ns;
}

// One that has ended can be looked at until its parent has waited for it.
void Recorder::look_at_cpu_time(const Sampled& sampled) {
  const TimeNs now = os_.now();
  const auto used = os::cpu_time_of(os_, sampled.process.pid);
  const auto same = os::start_time_of(os_, sampled.process.pid);
  if (!used.ok() || !same.ok() || *same != sampled.process.start) return;
  coverage_.look(sampled.process, now, used_of(*used, sampled.user_mode_only));
}

void Recorder::settle_cpu_coverage() {
  coverage_.settle(pipeline_.stats().watermark, [this](ProcessId process) -> std::optional<std::uint64_t> {
    if (pipeline_.processes().find(process) == nullptr) return std::nullopt;  // it ended, and was forgotten
    return on_cpu_ns_of(process);
  });
}

void Recorder::govern() {
  const std::vector<ProcessId> due = overhead_.due(os_.now());
  if (due.empty()) return;
  overhead_.check();
  for (ProcessId process : due) {
    const auto sampled = std::ranges::find(sampled_, process, &Sampled::process);
    if (sampled == sampled_.end() || sampled->detached || sampled->reopened != kTimeMin) continue;
    resample(*sampled);
  }
}

void Recorder::resample(Sampled& sampled) {
  capture::CaptureOptions options = overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process));
  options.placement = sampled.options.placement;
  follow_family(options);
  auto attached = reader_->replace(sampled.session, sampled.process.pid, options);
  if (!attached.ok()) {
    if (attached.error().code != ESRCH)
      on_problem_({sampled.process, "the old period stays: " + attached.error().message});
    return;
  }
  replaced_.emplace(std::exchange(sampled.session, attached->id), sampled.process);
  tell_recording(sampled.process);
}

void Recorder::follow_family(capture::CaptureOptions& options) {
  if (!options.follow_children) return;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended == kTimeMax) options.followed.push_back(entry.id().pid);
  });
}

void Recorder::watch_births() {
  for (Sampled& each : sampled_) {
    if (!each.births || each.detached || each.reopened != kTimeMin) continue;
    if (!each.births->too_many(os_.now(), reader_->births(each.session))) continue;
    const double births_per_second = each.births->per_second();
    each.births.reset();  // once
    change_to_cpus(each, births_per_second);
  }
}

// Events of a process keep their periods, and their threads inherit them: so other events take their place.
void Recorder::redraw_periods() {
  const TimeNs now = os_.now();
  for (Sampled& each : sampled_) {
    if (each.redraw > now || each.detached || each.reopened != kTimeMin || overhead_.enabled()) continue;
    capture::CaptureOptions options = each.options;
    follow_family(options);
    auto attached = reader_->replace(each.session, each.process.pid, options);
    each.redraw = attached.ok() ? next_redraw(options, now) : kTimeMax;
    if (attached.ok()) {
      replaced_.emplace(std::exchange(each.session, attached->id), each.process);
    } else if (attached.error().code != ESRCH) {
      on_problem_({each.process, "its periods are not drawn anew: " + attached.error().message});
    }
  }
}

// Timers of the CPUs in place of those of the threads.
void Recorder::change_to_cpus(Sampled& sampled, double births_per_second) {
  capture::CaptureOptions options =
      overhead_.enabled() ? overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process))
                          : sampled.options;
  options.placement = capture::Placement::kPerCpu;
  const std::string why =
      fmt::format("{:.0f} threads and processes a second are made, whose timers would each begin anew",
                  births_per_second);
  options.reasons.push_back(why);
  follow_family(options);
  auto attached = reader_->replace(sampled.session, sampled.process.pid, options);
  if (!attached.ok()) {
    if (attached.error().code == ESRCH) return;
    on_problem_({sampled.process, fmt::format("{}: short ones are hardly sampled, because {}", why,
                                              attached.error().message)});
    return;
  }
  replaced_.emplace(std::exchange(sampled.session, attached->id), sampled.process);
  sampled.options.placement = capture::Placement::kPerCpu;
  notes_ = attached->notes;
  tell_recording(sampled.process);
}

TargetProgress Recorder::progress_of(ProcessId process) {
  TargetProgress progress;
  if (auto cpu = os::cpu_time_of(os_, process.pid); cpu.ok()) progress.cpu_ns = cpu->all();
  if (const pipeline::ProcessEntry* entry = pipeline_.processes().find(process))
    progress.samples = entry->samples_by_source;
  return progress;
}

Status Recorder::sample(const pipeline::KnownProcess& process, const capture::CaptureOptions& options,
                        const std::string& note) {
  capture::CaptureOptions settled = options;
  const std::string fallback = pebs_trust_.settle(settled, clock_.model().perf_line().has_value(), os_.now());
  if (overhead_.enabled()) {
    // Periods change by other events in the place of the old ones, which a BPF program shares with everybody.
    if (settled.sampled_by == capture::SampledBy::kBpf) {
      return Error{"--max-overhead: not where BPF takes the samples; leave out --source bpf"};
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
  Sampled sampled;
  sampled.process = process.process;
  sampled.session = attached->id;
  sampled.options = options;
  sampled.large_pebs = uses_large_pebs(settled);
  sampled.reads_slots = attached->reads_slots;
  sampled.user_mode_only = attached->user_mode_only;
  if (!attached->redraws) sampled.redraw = next_redraw(settled, os_.now());
  if (settled.placement == capture::Placement::kAuto && only_timers(settled))
    sampled.births.emplace(settled.events.front().period);
  user_mode_only_ = user_mode_only_ || attached->user_mode_only;
  if (const auto used = os::cpu_time_of(os_, process.process.pid); used.ok()) {
    CpuCoverage before = used_of(*used, sampled.user_mode_only);
    before.sampled = on_cpu_ns_of(process.process);
    coverage_.begin(process.process, before);
  }
  sampled_.push_back(std::move(sampled));
  if (!is_registered(process.process) && !foreign_.contains(process.process)) {
    const auto names = names_from_.find(process.process);
    ForeignProcess foreign(os_, process.process,
                           names == names_from_.end() ? NamesFrom::kAuto : names->second);
    foreign.tell(input_, ForeignMoment::now(pipeline_.timeline()));
    foreign_.emplace(process.process, std::move(foreign));
  }
  return Ok{};
}

bool Recorder::is_sampled(ProcessId process) const {
  return std::any_of(sampled_.begin(), sampled_.end(),
                     [&](const Sampled& each) { return each.process == process; });
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
  auto sampled = std::ranges::find(sampled_, event.process, &Sampled::process);
  if (sampled == sampled_.end()) {  // a child of one that is sampled with its children
    sampled =
        std::ranges::find_if(sampled_, [](const Sampled& each) { return each.options.follow_children; });
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
