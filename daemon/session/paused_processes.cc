#include "daemon/session/paused_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/os/host_files.h"

namespace tailor::session {
namespace {

constexpr const char* kWhyPaused = "paused on request; `tailor resume` goes on";

bool is_asked_for(ProcessId process, std::optional<std::int32_t> pid) {
  return !pid || process.pid == *pid;
}

Error not_sampled(std::int32_t pid) {
  return not_found(fmt::format("process {} is not sampled; `tailor status` shows those that are", pid));
}

}  // namespace

Result<std::vector<ProcessId>> PausedProcesses::pause(std::optional<std::int32_t> pid) {
  std::vector<ProcessId> processes;
  for (ProcessSampling& each : sampled_.all()) {
    const bool open = each.is_sampling();
    if (!is_asked_for(each.process, pid) || !each.apply(SamplingEvent::kPause)) continue;
    // Not when the end is told: what is used until then is in no sample.
    cpu_.look(each.process, each.user_mode_only);
    if (open) sampled_.close(each);
    processes.push_back(each.process);
  }
  if (!pid) {
    pauses_.set_all(true);
  } else if (processes.empty()) {
    const bool paused = !paused_of(pid).empty();
    return paused ? invalid(fmt::format("process {} is paused already", *pid)) : not_sampled(*pid);
  }
  return processes;
}

std::vector<ProcessId> PausedProcesses::paused_of(std::optional<std::int32_t> pid) const {
  std::vector<ProcessId> which = sampled_.states().in(SamplingState::kPaused);
  std::erase_if(which, [&](ProcessId process) { return !is_asked_for(process, pid); });
  return which;
}

bool PausedProcesses::is_closing() const {
  return std::ranges::any_of(sampled_.all(),
                             [](const auto& each) { return each.state() == SamplingState::kPausing; });
}

void PausedProcesses::closed(const ProcessSampling& before, TimeNs time) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  sampled_.states().keep(before.process, {std::move(options), before.origin});
  pauses_.begin(before.process, time);
  sampled_.states().set_why_not(before.process, kWhyPaused);
  facts_.pauses(pauses_.list());
}

Result<Resumed> PausedProcesses::resume(std::optional<std::int32_t> pid,
                                        const std::function<std::string(ProcessId)>& ignored) {
  if (!pid) pauses_.set_all(false);
  const std::vector<ProcessId> which = paused_of(pid);
  if (pid && which.empty()) return not_found(fmt::format("process {} is not paused", *pid));
  Resumed resumed;
  for (ProcessId process : which) go_on(process, ignored, resumed);
  facts_.pauses(pauses_.list());
  return resumed;
}

// One that cannot be sampled any more is not paused either: its reason is in the status.
void PausedProcesses::go_on(ProcessId process, const std::function<std::string(ProcessId)>& ignored,
                            Resumed& resumed) {
  const Sampled how = sampled_.states().kept(process).value_or(Sampled{capture_, {}});
  sampled_.states().apply(process, SamplingEvent::kRelease);
  pauses_.end(process, os_.now());
  cpu_.close(process);
  sampled_.states().forget_why_not(process);
  if (std::string why = ignored(process); !why.empty()) {
    resumed.problems.push_back(fmt::format("process {}: {}", process.pid, why));
    return;
  }
  Status opened = sampled_.open_running(process, how.options, how.origin);
  if (opened.ok()) {
    resumed.processes.push_back(process);
    return;
  }
  // It ended while it was paused: nothing is left to go on with, and nothing is wrong.
  const auto there = os::identify(os_, process.pid);
  if (opened.error().code == ESRCH || !there.ok() || *there != process) return;
  resumed.problems.push_back(fmt::format("process {}: {}", process.pid, opened.error().message));
  sampled_.states().set_why_not(process, opened.error().message);
}

std::string PausedProcesses::pause_if_all_are(ProcessId process) {
  if (!contains(process)) {
    if (!pauses_.all()) return {};
    sampled_.states().apply(process, SamplingEvent::kPause);
    sampled_.states().keep(process, {capture_, {}});
    pauses_.begin(process, os_.now());
    facts_.pauses(pauses_.list());
  }
  sampled_.states().set_why_not(process, kWhyPaused);
  return kWhyPaused;
}

void PausedProcesses::forget(ProcessId process) {
  if (!contains(process)) return;
  sampled_.states().apply(process, SamplingEvent::kRelease);
  pauses_.end(process, os_.now());
  facts_.pauses(pauses_.list());
}

bool PausedProcesses::is_on_request(ProcessId process) const {
  const auto how = sampled_.states().kept(process);
  return how && how->origin.on_request;
}

}  // namespace tailor::session
