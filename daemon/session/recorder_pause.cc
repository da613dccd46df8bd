// The part of Recorder that stops sampling on request, and goes on.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/session/host_info.h"
#include "daemon/session/recorder.h"

namespace tailor::session {
namespace {

constexpr const char* kWhyPaused = "paused on request; `tailor resume` goes on";
// The reader closes events and hands over what their rings hold in its own time.
constexpr std::chrono::milliseconds kEndsAfter{20};
constexpr int kMostWaits = 100;

bool is_asked_for(ProcessId process, std::optional<std::int32_t> pid) {
  return !pid || process.pid == *pid;
}

Error not_sampled(std::int32_t pid) {
  return not_found(fmt::format("process {} is not sampled; `tailor status` shows those that are", pid));
}

}  // namespace

Result<std::vector<ProcessId>> Recorder::pause(std::optional<std::int32_t> pid) {
  std::vector<ProcessId> processes;
  Status asked = Ok{};
  run([&] {
    for (ProcessSampling& each : sampled_) {
      const bool open = each.is_sampling();
      if (!is_asked_for(each.process, pid) || !each.pause()) continue;
      // Not when the end is told: what is used until then is in no sample.
      cpu_.look(each.process, each.user_mode_only);
      if (open) reader_->remove(each.recording);
      processes.push_back(each.process);
    }
    if (!pid) {
      pauses_.set_all(true);
    } else if (processes.empty()) {
      const auto paused =
          std::ranges::find_if(paused_, [&](const auto& each) { return is_asked_for(each.first, pid); });
      asked = paused == paused_.end() ? not_sampled(*pid)
                                      : invalid(fmt::format("process {} is paused already", *pid));
    }
  });
  if (!asked.ok()) return asked.error();
  for (int i = 0; i < kMostWaits; ++i) {
    bool ended = false;
    run([&] {
      ended = std::ranges::none_of(sampled_,
                                   [](const auto& each) { return each.state() == SamplingState::kPausing; });
    });
    if (ended) break;
    std::this_thread::sleep_for(kEndsAfter);
  }
  return processes;
}

Result<Recorder::Resumed> Recorder::resume(std::optional<std::int32_t> pid) {
  // What was sampled before the pause is attributed first: its CPU time is settled then, and what was used
  // during the pause is in no account.
  flush();
  Resumed resumed;
  Status asked = Ok{};
  run([&] {
    cpu_.settle();
    if (!pid) pauses_.set_all(false);
    std::vector<ProcessId> which;
    for (const auto& [process, how] : paused_) {
      if (is_asked_for(process, pid)) which.push_back(process);
    }
    if (pid && which.empty()) asked = not_found(fmt::format("process {} is not paused", *pid));
    for (ProcessId process : which) go_on(process, resumed);
    tell_pauses();
  });
  if (!asked.ok()) return asked.error();
  return resumed;
}

// One that cannot be sampled any more is not paused either: its reason is in the status.
void Recorder::go_on(ProcessId process, Resumed& resumed) {
  const Paused how = paused_.extract(process).mapped();
  pauses_.end(process, os_.now());
  cpu_.close(process);
  not_sampled_.erase(process);
  if (std::string why = ignore_if_told(process); !why.empty()) {
    resumed.problems.push_back(fmt::format("process {}: {}", process.pid, why));
    return;
  }
  Status sampled = sample(known_process(os_, process), how.options);
  if (sampled.ok()) {
    sampled_.back().on_request = how.on_request;
    sampled_.back().by_rule = how.by_rule;
    resumed.processes.push_back(process);
    return;
  }
  resumed.problems.push_back(fmt::format("process {}: {}", process.pid, sampled.error().message));
  if (sampled.error().code != ESRCH) not_sampled_[process] = sampled.error().message;
}

// Its events are closed, and everything they took was handed over.
void Recorder::paused(const ProcessSampling& before, TimeNs time) {
  capture::CaptureOptions options = before.options;
  options.enable_on_exec = false;  // that is over
  paused_.insert_or_assign(before.process, Paused{std::move(options), before.on_request, before.by_rule});
  pauses_.begin(before.process, time);
  not_sampled_[before.process] = kWhyPaused;
  tell_pauses();
}

// "" if it may be sampled.
std::string Recorder::pause_if_all_are(ProcessId process) {
  if (!paused_.contains(process)) {
    if (!pauses_.all()) return {};
    paused_.emplace(process, Paused{options_.capture});
    pauses_.begin(process, os_.now());
    tell_pauses();
  }
  not_sampled_[process] = kWhyPaused;
  return kWhyPaused;
}

void Recorder::forget_pause(ProcessId process) {
  if (paused_.erase(process) == 0) return;
  pauses_.end(process, os_.now());
  tell_pauses();
}

void Recorder::tell_pauses() {
  recording_.pauses = pauses_.list();
  input_.on_recording(recording_);
}

}  // namespace tailor::session
