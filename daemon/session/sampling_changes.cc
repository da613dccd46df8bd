#include "daemon/session/sampling_changes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <string>
#include <vector>

#include "daemon/capture/host/placement.h"
#include "daemon/os/host_files.h"
#include "daemon/session/redraw.h"

namespace tailor::session {

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
    const auto seen = reader_.threads(each.recording);
    if (each.births && each.births->too_many(os_.now(), seen.births)) {
      const std::string why =
          fmt::format("{:.0f} threads and processes a second are made, whose timers would each begin anew",
                      each.births->per_second());
      each.births.reset();  // once
      if (const Status changed = change_to_cpus(each, why); !changed.ok()) {
        on_problem_({each.process, fmt::format("{}: short ones are hardly sampled, because {}", why,
                                               changed.error().message)});
      }
    } else if (const std::string why = capture::why_per_cpu(seen.switches_per_second);
               each.may_move && !why.empty()) {
      each.may_move = false;  // once
      if (const Status changed = change_to_cpus(each, why); !changed.ok()) {
        notes_.add(each.process, fmt::format("not {}, because {}", why, changed.error().message));
      }
    }
  }
}

// Events of a process keep their periods, and their threads inherit them: so other events take their place.
void SamplingChanges::redraw_periods() {
  const TimeNs now = os_.now();
  for (ProcessSampling& each : sampled_.all()) {
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

void SamplingChanges::govern() {
  if (!overhead_.enabled()) return;
  const std::vector<ProcessId> due = overhead_.due(os_.now());
  if (due.empty()) return;
  overhead_.check();
  for (ProcessId process : due) {
    ProcessSampling* sampled = sampled_.find(process);
    if (sampled != nullptr && sampled->is_sampling()) resample(*sampled);
  }
}

void SamplingChanges::resample(ProcessSampling& sampled) {
  capture::CaptureOptions options = overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process));
  options.placement = sampled.options.placement;
  follow_family(options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) {
    if (attached.error().code != ESRCH)
      on_problem_({sampled.process, "the old period stays: " + attached.error().message});
    return;
  }
  notes_.tell(sampled.process);
}

void SamplingChanges::follow_family(capture::CaptureOptions& options) {
  if (!options.follow_children) return;
  pipeline_.processes().for_each([&](const pipeline::ProcessEntry& entry) {
    if (entry.ended == kTimeMax) options.followed.push_back(entry.id().pid);
  });
}

Status SamplingChanges::draw_anew(ProcessSampling& sampled, const capture::CaptureOptions& options) {
  if (sampled.renews) return reader_.renew(sampled.recording, sampled.process.pid, options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) return attached.error();
  return Ok{};
}

// Timers of the CPUs in place of those of the threads.
Status SamplingChanges::change_to_cpus(ProcessSampling& sampled, const std::string& why) {
  capture::CaptureOptions options =
      overhead_.enabled() ? overhead_.draw(sampled.process, os_.now(), progress_of(sampled.process))
                          : sampled.options;
  options.placement = capture::Placement::kPerCpu;
  options.reasons.push_back(why);
  follow_family(options);
  auto attached = sampled_.replace(sampled, options);
  if (!attached.ok()) return attached.error().code == ESRCH ? Status(Ok{}) : attached.error();
  sampled.options.placement = capture::Placement::kPerCpu;
  notes_.set(sampled.process, attached->notes);
  return Ok{};
}

TargetProgress SamplingChanges::progress_of(ProcessId process) {
  TargetProgress progress;
  if (auto cpu = os::cpu_time_of(os_, process.pid); cpu.ok()) progress.cpu_ns = cpu->all();
  if (const pipeline::ProcessEntry* entry = pipeline_.processes().find(process))
    progress.samples = entry->samples_by_source;
  return progress;
}

}  // namespace tailor::session
