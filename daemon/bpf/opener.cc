#include "daemon/bpf/opener.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "daemon/bpf/recording.h"
#include "daemon/bpf/suited_events.h"
#include "daemon/capture/host/perf_recording.h"
#include "daemon/capture/select/tag_ways.h"
#include "daemon/os/host_files.h"
#include "proto/base/errors.h"

namespace tailor::bpf {

using capture::CaptureOptions;
using capture::EventSpec;
using capture::Mechanism;
using capture::SampledBy;

namespace {

// Below, copying a stack with every sample is no longer small beside the sample itself.
constexpr std::uint64_t kLeastPeriodWithStacks = 200'000;  // ns
constexpr std::uint64_t kMostCyclesPerNs = 5;

bool can_afford_stacks(const EventSpec& event) {
  if (event.part == capture::Part::kRecords) return true;  // they have none
  if (event.part == capture::Part::kRest) return event.period >= kMostCyclesPerNs * kLeastPeriodWithStacks;
  return event.mechanism == Mechanism::kTimer && !event.callchain && event.period >= kLeastPeriodWithStacks;
}

using Opened = Result<std::unique_ptr<capture::Recording>>;

bool samples_switches(const CaptureOptions& options) {
  return std::ranges::any_of(options.events,
                             [](const EventSpec& event) { return event.unit == profile::Unit::kNsOffCpu; });
}

bool wants_bpf(const CaptureOptions& options) {
  if (options.sampled_by != SampledBy::kAuto) return options.sampled_by == SampledBy::kBpf;
  if (options.aggregate > 0 || (samples_switches(options) && !options.callchain)) return true;
  // It tells which samples need a stack, and what the slot of the thread says: perf has no slots.
  const bool with_stacks = options.stacks != capture::Stacks::kNone && !options.callchain;
  if (with_stacks && std::ranges::any_of(options.events, suits)) return true;
  return std::ranges::any_of(options.events, [&](const EventSpec& event) {
    return suits(event) && capture::bpf_sees_more(event, options.exclude_kernel);
  });
}

// Which rows of the decision table the recording takes.
void add_rows(CaptureOptions& options, bool bpf) {
  for (const EventSpec& event : options.events) {
    const SampledBy by = bpf && suits(event) ? SampledBy::kBpf : SampledBy::kPerf;
    options.reasons.push_back(capture::describe(event, by, options.exclude_kernel));
  }
  if (bpf && samples_switches(options)) {
    options.reasons.push_back("tags in memory slots at switches by BPF");
  }
}

// Of the part of a recording that a program takes.
SamplerOptions sampler_options(const CaptureOptions& options) {
  SamplerOptions wanted;
  for (const EventSpec& event : options.events) {
    if (suits(event)) wanted.events.push_back(event);
  }
  wanted.switches = samples_switches(options);
  wanted.aggregate = options.aggregate;
  wanted.exclude_kernel = options.exclude_kernel;
  wanted.jitter = options.jitter;
  wanted.ring_bytes = options.ring_bytes;
  return wanted;
}

Opened perf_with_rows(os::Os& os, pid_t pid, CaptureOptions options) {
  settle_stacks_for_perf(options);
  if (options.aggregate > 0) {
    options.reasons.push_back("a record per sample: only a BPF program adds samples up in the kernel");
  }
  add_rows(options, false);
  return capture::open_by_perf(os, pid, options);
}

}  // namespace

void settle_stacks_for_perf(CaptureOptions& options) {
  if (options.stacks != capture::Stacks::kAdaptive) return;
  options.stacks = capture::Stacks::kNone;
  if (options.callchain) return;  // every sample has its call chain
  const bool cheap = std::ranges::all_of(options.events, can_afford_stacks);
  if (cheap) options.stacks = capture::Stacks::kAlways;
  options.reasons.push_back(
      cheap ? "every sample brings its stack: without BPF nothing tells which ones need it"
            : "without stacks: only BPF tells which samples need one, and with every sample "
              "they are for timers of 5 kHz at most");
}

Opened Opener::open(os::Os& os, pid_t pid, const CaptureOptions& options) {
  if (pid == capture::kAllProcesses || !wants_bpf(options)) return perf_with_rows(os, pid, options);
  auto recording = open_by_bpf(os, pid, options);
  if (recording || options.sampled_by == SampledBy::kBpf || options.perf_part) return recording;
  CaptureOptions by_perf = options;
  by_perf.reasons.push_back("sampled by perf, though BPF would see more: " + recording.error().message);
  return perf_with_rows(os, pid, std::move(by_perf));
}

bool Opener::is_ready(os::Os& os, const CaptureOptions& options) {
  if (!wants_bpf(options) || options.callchain) return true;
  const SamplerOptions wanted = sampler_options(options);
  if (wanted.events.empty() && !wanted.switches) return true;
  std::lock_guard lock(mutex_);
  return running(wanted) != nullptr || loader_.is_ready(os, wanted, os.now());
}

void Opener::give_up_unused(TimeNs now) {
  std::lock_guard lock(mutex_);
  loader_.give_up(now);
}

Result<std::unique_ptr<capture::Recording>> Opener::open_by_bpf(os::Os& os, pid_t pid,
                                                                const CaptureOptions& options) {
  const SamplerOptions wanted = sampler_options(options);
  CaptureOptions rest = options;
  add_rows(rest, true);
  if (options.aggregate > 0) {
    rest.reasons.push_back(
        fmt::format("samples are added up in the kernel for {:g} s, by thread, instruction, tag and state",
                    static_cast<double>(options.aggregate) / 1e9));
  }
  rest.events.clear();
  std::uint16_t source = 0;
  for (const EventSpec& event : options.events) {
    if (!suits(event)) {
      rest.events.push_back(event);
      continue;
    }
    if (event.part == capture::Part::kRest) rest.rest_source = source;
    ++source;
  }
  if (wanted.events.empty() && !wanted.switches)
    return unavailable("no BPF program can take samples of these events");
  if (options.callchain) return unavailable("call chains of every sample are perf's to take");
  if (options.aggregate > 0 && options.all_registers) return unavailable("sums of samples have no registers");
  rest.first_source = static_cast<std::uint16_t>(wanted.events.size());
  const bool only_sideband = rest.events.empty();
  if (only_sideband) {
    rest.events.push_back(capture::sideband_only());
    // Where samples have data addresses, mappings of data are records too.
    rest.events.back().address = capture::wants_memory_map(options);
    rest.stacks = capture::Stacks::kNone;
  }

  if (options.perf_part) return capture::open_by_perf(os, pid, rest);
  auto taken_by = sampler(os, wanted);
  if (!taken_by) return taken_by.error();
  auto perfs = only_sideband ? sideband(os, pid, rest) : capture::open_by_perf(os, pid, rest);
  if (!perfs) return perfs.error();
  const auto others = only_sideband ? std::vector<profile::Source>() : (*perfs)->sources();
  Sampler& told = **taken_by;
  auto recording = Recording::open(os, pid, options, std::move(*taken_by), std::move(*perfs));
  if (!recording) return recording.error();
  tell_known(told, pid);
  (*recording)->add_sources(others);
  return std::unique_ptr<capture::Recording>(std::move(*recording));
}

// What the kernel says of tasks and mappings of the process: by rings that all share, where they may be had.
Opened Opener::sideband(os::Os& os, pid_t pid, const CaptureOptions& options) {
  if (!can_share_sideband(options)) return capture::open_by_perf(os, pid, options);
  // Nobody else would notice that it has ended.
  if (auto threads = os::threads_of(os, pid); !threads || threads->empty())
    return threads ? os_error(fmt::format("process {} has ended", pid), ESRCH) : threads.error();
  std::lock_guard lock(mutex_);
  std::erase_if(sidebands_, [](const auto& each) { return each.expired(); });
  for (const auto& each : sidebands_) {
    auto shared = each.lock();
    if (shared && shared->suits(options)) return shared->add(pid, options);
  }
  auto started = SharedSideband::start(os, options);
  if (!started) return capture::open_by_perf(os, pid, options);
  sidebands_.push_back(*started);
  return (*started)->add(pid, options);
}

void Opener::tell_known(Sampler& sampler, pid_t pid) {
  std::lock_guard lock(mutex_);
  const auto known = known_.find(pid);
  if (known == known_.end()) return;
  sampler.tell_agent(pid, &known->second.tags);
  known->second.code.for_each([&](std::uint64_t page, bool) { sampler.tell_code_page(pid, page, true); });
}

template <typename Tell>
void Opener::tell_all(Tell tell) {
  for (const auto& each : samplers_) {
    if (auto running = each.lock()) tell(*running);
  }
}

void Opener::tags(pid_t pid, const capture::AgentTag& tags) {
  std::lock_guard lock(mutex_);
  known_[pid].tags = tags;
  tell_all([&](Sampler& sampler) { sampler.tell_agent(pid, &tags); });
}

CodePages::Tell Opener::tell_pages(pid_t pid) {
  return [this, pid](std::uint64_t page, bool is_one) {
    tell_all([&](Sampler& sampler) { sampler.tell_code_page(pid, page, is_one); });
  };
}

void Opener::add_code(pid_t pid, CodeId id, std::uint64_t begin, std::uint64_t size, bool of_plan) {
  std::lock_guard lock(mutex_);
  known_[pid].code.add(id, begin, size, of_plan, tell_pages(pid));
}

void Opener::remove_code(pid_t pid, CodeId id) {
  std::lock_guard lock(mutex_);
  const auto known = known_.find(pid);
  if (known != known_.end()) known->second.code.remove(id, tell_pages(pid));
}

void Opener::gone(pid_t pid) {
  std::lock_guard lock(mutex_);
  const auto known = known_.extract(pid);
  if (known.empty()) return;
  tell_all([&](Sampler& sampler) {
    sampler.tell_agent(pid, nullptr);
    known.mapped().code.for_each([&](std::uint64_t page, bool) { sampler.tell_code_page(pid, page, false); });
  });
}

Result<std::shared_ptr<Sampler>> Opener::sampler(os::Os& os, const SamplerOptions& options) {
  std::lock_guard lock(mutex_);
  if (auto known = running(options)) return known;
  std::optional<SamplerLoader::Started> loaded = loader_.take(options);
  auto started = loaded ? std::move(*loaded) : loader_.start(os, options);
  if (started) samplers_.push_back(*started);
  return started;
}

std::shared_ptr<Sampler> Opener::running(const SamplerOptions& options) {
  std::erase_if(samplers_, [](const auto& each) { return each.expired(); });
  for (const auto& each : samplers_) {
    auto running = each.lock();
    if (running && running->options() == options) return running;
  }
  return nullptr;
}

}  // namespace tailor::bpf
