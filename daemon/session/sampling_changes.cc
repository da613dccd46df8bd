#include "daemon/session/sampling_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "daemon/capture/host/placement.h"
#include "daemon/os/host_files.h"
#include "daemon/session/known_process.h"
#include "daemon/session/redraw.h"

namespace tailor::session {

// The kernel may stamp PEBS records otherwise than the trial found, or begin to: then every recording that
// relies on their own times goes on with an interrupt per sample.
void SamplingChanges::watch_pebs() {
  const TimeNs now = parts_.os.now();
  pebs_trust_.note_clock(parts_.clock.model().perf_line().has_value(), now);
  const auto relies = [](const ProcessSampling& each) { return each.large_pebs && each.is_sampling(); };
  if (!std::ranges::any_of(sampled_.all(), relies)) return;
  const std::string doubt = pebs_trust_.doubt(parts_.pipeline.pebs_times_doubted(), now);
  if (doubt.empty()) return;
  for (ProcessSampling& each : sampled_.all()) {
    if (!relies(each)) continue;
    each.reopen(now);
    parts_.on_problem({each.process, "an interrupt per PEBS sample from now on: " + doubt});
    sampled_.close(each);
  }
}

bool SamplingChanges::reopen(const ProcessSampling& before) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  const TimeNs pause = parts_.os.now() - before.reopened();
  Status again =
      sampled_.open({before.process, comm_of(parts_.os.proc(), before.process.pid)}, options, before.origin,
                    fmt::format("earlier PEBS samples may be stamped late, by as much as the "
                                "buffer held; then {} ms without samples",
                                pause / 1'000'000));
  if (again.ok()) return true;
  if (again.error().code == ESRCH) return false;
  sampled_.states().set_why_not(before.process, again.error().message);
  parts_.on_problem({before.process, again.error().message});
  return true;
}

// Where the events are, and of whom, stays.
Status SamplingChanges::change_events(ProcessSampling& sampled, const capture::CaptureOptions& wanted) {
  capture::CaptureOptions options = wanted;
  options.placement = sampled.options.placement;
  options.follow_children = sampled.options.follow_children;
  follow_family(options);
  return sampled_.change(sampled, options);
}

void SamplingChanges::watch_threads() {
  for (ProcessSampling& each : sampled_.all()) {
    if (!each.is_sampling() || !(each.births || each.may_move)) continue;
    const auto seen = parts_.reader.threads(each.recording);
    if (each.births && each.births->too_many(parts_.os.now(), seen.births)) {
      const std::string why =
          fmt::format("{:.0f} threads and processes a second are made, whose timers would each begin anew",
                      each.births->per_second());
      each.births.reset();  // once
      if (const Status changed = change_to_cpus(each, why); !changed.ok()) {
        parts_.on_problem({each.process, fmt::format("{}: short ones are hardly sampled, because {}", why,
                                                     changed.error().message)});
      }
    } else if (const std::string why = capture::why_per_cpu(seen.switches_per_second);
               each.may_move && !why.empty()) {
      each.may_move = false;  // once
      if (const Status changed = change_to_cpus(each, why); !changed.ok()) {
        sampled_.add_note(fmt::format("not {}, because {}", why, changed.error().message));
        sampled_.tell_notes(each.process);
      }
    }
  }
}

// Events of a process keep their periods, and their threads inherit them: so other events take their place.
void SamplingChanges::redraw_periods() {
  const TimeNs now = parts_.os.now();
  for (ProcessSampling& each : sampled_.all()) {
    if (each.redraw > now || !each.is_sampling() || overhead_.enabled()) continue;
    capture::CaptureOptions options = each.options;
    // What was found out about the times of PEBS records holds for the new events too.
    options.large_pebs = each.large_pebs;
    follow_family(options);
    const Status drawn = draw_anew(each, options);
    each.redraw = drawn.ok() ? next_redraw(options, now) : kTimeMax;
    if (!drawn.ok() && drawn.error().code != ESRCH)
      parts_.on_problem({each.process, "its periods are not drawn anew: " + drawn.error().message});
  }
}

void SamplingChanges::govern() {
  if (!overhead_.enabled()) return;
  const std::vector<ProcessId> due = overhead_.due(parts_.os.now());
  if (due.empty()) return;
  overhead_.check();
  for (ProcessId process : due) {
    ProcessSampling* sampled = sampled_.find(process);
    if (sampled != nullptr && sampled->is_sampling()) resample(*sampled);
  }
}

void SamplingChanges::resample(ProcessSampling& sampled) {
  capture::CaptureOptions options =
      overhead_.draw(sampled.process, parts_.os.now(), progress_of(sampled.process));
  options.placement = sampled.options.placement;
  follow_family(options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) {
    if (attached.error().code != ESRCH)
      parts_.on_problem({sampled.process, "the old period stays: " + attached.error().message});
    return;
  }
  sampled_.tell_notes(sampled.process);
}

void SamplingChanges::follow_family(capture::CaptureOptions& options) {
  if (!options.follow_children) return;
  parts_.pipeline.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended == kTimeMax) options.followed.push_back(entry.id().pid);
  });
}

Status SamplingChanges::draw_anew(ProcessSampling& sampled, const capture::CaptureOptions& options) {
  if (sampled.renews) return parts_.reader.renew(sampled.recording, sampled.process.pid, options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) return attached.error();
  return Ok{};
}

// Timers of the CPUs in place of those of the threads.
Status SamplingChanges::change_to_cpus(ProcessSampling& sampled, const std::string& why) {
  capture::CaptureOptions options =
      overhead_.enabled() ? overhead_.draw(sampled.process, parts_.os.now(), progress_of(sampled.process))
                          : sampled.options;
  options.placement = capture::Placement::kPerCpu;
  options.reasons.push_back(why);
  follow_family(options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) return attached.error().code == ESRCH ? Status(Ok{}) : attached.error();
  sampled.options.placement = capture::Placement::kPerCpu;
  sampled_.set_notes(attached->notes);
  sampled_.tell_notes(sampled.process);
  return Ok{};
}

TargetProgress SamplingChanges::progress_of(ProcessId process) {
  TargetProgress progress;
  if (auto cpu = os::cpu_time_of(parts_.os, process.pid); cpu.ok()) progress.cpu_ns = cpu->all();
  if (const pipeline::ProcessEntry* entry = parts_.pipeline.processes().find(process))
    progress.samples = entry->samples_by_source;
  return progress;
}

}  // namespace tailor::session
