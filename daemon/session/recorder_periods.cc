// The part of Recorder that changes how a process is sampled while it is: periods are drawn anew, what they
// cost is bounded, timers move from threads to CPUs, and PEBS is no longer trusted.
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/capture/select/jitter.h"
#include "daemon/os/host_files.h"
#include "daemon/session/recorder.h"
#include "daemon/session/redraw.h"

namespace tailor::session {
namespace {

constexpr TimeNs kRedrawsApart = 10;  // times redraw_after()

}  // namespace

TimeNs next_redraw(const capture::CaptureOptions& options, TimeNs now) {
  TimeNs after = 0;
  for (const capture::EventSpec& event : options.events) {
    if (capture::is_jittered(event)) after = std::max(after, kRedrawsApart * capture::redraw_after(event));
  }
  return options.jitter && after > 0 ? now + after : kTimeMax;
}

// The kernel may stamp PEBS records otherwise than the trial found, or begin to: then every recording that
// relies on their own times goes on with an interrupt per sample.
void Recorder::watch_pebs() {
  const TimeNs now = os_.now();
  pebs_trust_.note_clock(clock_.model().perf_line().has_value(), now);
  const auto relies = [](const ProcessSampling& each) { return each.large_pebs && each.is_sampling(); };
  if (!std::ranges::any_of(sampled_, relies)) return;
  const std::string doubt = pebs_trust_.doubt(pipeline_.pebs_times_doubted(), now);
  if (doubt.empty()) return;
  for (ProcessSampling& each : sampled_) {
    if (!relies(each)) continue;
    each.reopen(now);
    on_problem_({each.process, "an interrupt per PEBS sample from now on: " + doubt});
    reader_->remove(each.recording);
  }
}

void Recorder::govern() {
  const std::vector<ProcessId> due = overhead_.due(os_.now());
  if (due.empty()) return;
  overhead_.check();
  for (ProcessId process : due) {
    const auto sampled = std::ranges::find(sampled_, process, &ProcessSampling::process);
    if (sampled == sampled_.end() || !sampled->is_sampling()) continue;
    resample(*sampled);
  }
}

void Recorder::resample(ProcessSampling& sampled) {
  capture::CaptureOptions options = overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process));
  options.placement = sampled.options.placement;
  follow_family(options);
  auto attached = reader_->replace(sampled.recording, sampled.process.pid, options);
  if (!attached.ok()) {
    if (attached.error().code != ESRCH)
      on_problem_({sampled.process, "the old period stays: " + attached.error().message});
    return;
  }
  replaced_.emplace(std::exchange(sampled.recording, attached->id), sampled.process);
  tell_recording(sampled.process);
}

void Recorder::follow_family(capture::CaptureOptions& options) {
  if (!options.follow_children) return;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended == kTimeMax) options.followed.push_back(entry.id().pid);
  });
}

void Recorder::watch_births() {
  for (ProcessSampling& each : sampled_) {
    if (!each.births || !each.is_sampling()) continue;
    if (!each.births->too_many(os_.now(), reader_->births(each.recording))) continue;
    const double births_per_second = each.births->per_second();
    each.births.reset();  // once
    change_to_cpus(each, births_per_second);
  }
}

// Events of a process keep their periods, and their threads inherit them: so other events take their place.
void Recorder::redraw_periods() {
  const TimeNs now = os_.now();
  for (ProcessSampling& each : sampled_) {
    if (each.redraw > now || !each.is_sampling() || overhead_.enabled()) continue;
    capture::CaptureOptions options = each.options;
    // What was found out about the times of PEBS records holds for the new events too.
    options.large_pebs = each.large_pebs;
    follow_family(options);
    const Status drawn = draw_anew(each, options);
    each.redraw = drawn.ok() ? next_redraw(options, now) : kTimeMax;
    if (!drawn.ok() && drawn.error().code != ESRCH)
      on_problem_({each.process, "its periods are not drawn anew: " + drawn.error().message});
  }
}

Status Recorder::draw_anew(ProcessSampling& sampled, const capture::CaptureOptions& options) {
  if (sampled.renews) return reader_->renew(sampled.recording, sampled.process.pid, options);
  auto attached = reader_->replace(sampled.recording, sampled.process.pid, options);
  if (!attached.ok()) return attached.error();
  replaced_.emplace(std::exchange(sampled.recording, attached->id), sampled.process);
  return Ok{};
}

// Timers of the CPUs in place of those of the threads.
void Recorder::change_to_cpus(ProcessSampling& sampled, double births_per_second) {
  capture::CaptureOptions options =
      overhead_.enabled() ? overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process))
                          : sampled.options;
  options.placement = capture::Placement::kPerCpu;
  const std::string why =
      fmt::format("{:.0f} threads and processes a second are made, whose timers would each begin anew",
                  births_per_second);
  options.reasons.push_back(why);
  follow_family(options);
  auto attached = reader_->replace(sampled.recording, sampled.process.pid, options);
  if (!attached.ok()) {
    if (attached.error().code == ESRCH) return;
    on_problem_({sampled.process, fmt::format("{}: short ones are hardly sampled, because {}", why,
                                              attached.error().message)});
    return;
  }
  replaced_.emplace(std::exchange(sampled.recording, attached->id), sampled.process);
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

}  // namespace tailor::session
