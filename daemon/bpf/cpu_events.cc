#include "daemon/bpf/cpu_events.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <optional>
#include <span>
#include <utility>

#include "daemon/capture/host/denial.h"

namespace tailor::bpf {
namespace {

// Another event of its kind takes no counter of the CPU.
bool runs_beside(const capture::EventSpec& spec) {
  return spec.mechanism == capture::Mechanism::kTimer || spec.mechanism == capture::Mechanism::kSoftware;
}

}  // namespace

CpuEvents::CpuEvents(os::Os& os, std::vector<capture::EventSpec> events, std::vector<perf_event_attr> attrs,
                     bool jitter, Attach attach)
    : os_(os),
      events_(std::move(events)),
      attrs_(std::move(attrs)),
      jitter_(jitter),
      attach_(std::move(attach)),
      draw_(static_cast<std::uint64_t>(os.now())) {}

Status CpuEvents::open(const std::vector<int>& cpus, TimeNs now) {
  for (int cpu : cpus) {
    Cpu opened{true, {}};
    for (std::size_t source = 0; source < events_.size(); ++source) {
      auto event = open_one(source, cpu);
      // A CPU can go offline at any time; the others still count.
      if (!event && event.error().code == ENODEV && cpus.size() > 1) break;
      if (!event) return capture::explain_open(os_, event.error(), attrs_[source], -1);
      auto attached = attach_(std::move(event->fd), source);
      if (!attached) return capture::explain_open(os_, attached.error(), attrs_[source], -1);
      opened.events.push_back({std::move(*attached), now, std::nullopt});
    }
    if (opened.events.size() < events_.size()) continue;
    cpus_[cpu] = std::move(opened);
    run(cpu, false);
  }
  return Ok{};
}

Result<CpuEvents::Drawn> CpuEvents::open_one(std::size_t source, int cpu) {
  perf_event_attr attr = attrs_[source];
  if (jitter_) attr.sample_period = draw_.draw(events_[source]);
  auto fd = os_.perf_event_open(attr, -1, cpu, -1, 0);
  if (!fd) return fd.error();
  return Drawn{std::move(*fd), attr.sample_period};
}

void CpuEvents::run(int number, bool runs) {
  const auto found = cpus_.find(number);
  if (found == cpus_.end() || found->second.runs == runs) return;
  found->second.runs = runs;
  for (Event& event : found->second.events) {
    event.next.reset();
    // The event of a CPU that went offline refuses, and has nothing to sample.
    (void)os_.perf_ioctl(event.attached.fd, runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

void CpuEvents::redraw(TimeNs now) {
  if (!jitter_) return;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.runs) continue;
    for (std::size_t source = 0; source < cpu.events.size(); ++source) {
      Event& event = cpu.events[source];
      if (event.next) {
        finish_next(event, source, now);
      } else if (capture::is_jittered(events_[source]) &&
                 now - event.drawn >= capture::redraw_after(events_[source])) {
        begin_next(event, source, number, now);
      }
    }
  }
}

void CpuEvents::begin_next(Event& event, std::size_t source, int cpu, TimeNs now) {
  const capture::EventSpec& spec = events_[source];
  const bool had_many = counted(event.attached.fd) / spec.period >= capture::kPeriodsToLose;
  if (!had_many && !runs_beside(spec)) return;
  event.drawn = now;  // also where it stays, so that it is not tried at once again
  auto drawn = open_one(source, cpu);
  if (!drawn) return;
  if (had_many) return replace(event, source, std::move(drawn->fd));
  if (!os_.perf_ioctl(drawn->fd.get(), PERF_EVENT_IOC_ENABLE, 0)) return;
  event.next.emplace(Next{std::move(drawn->fd), drawn->period + draw_.below(drawn->period)});
}

void CpuEvents::finish_next(Event& event, std::size_t source, TimeNs now) {
  if (counted(event.next->fd.get()) < event.next->ready) return;
  UniqueFd fd = std::move(event.next->fd);
  event.next.reset();
  event.drawn = now;
  replace(event, source, std::move(fd));
}

// Nothing is counted twice: the old one stops first.
void CpuEvents::replace(Event& event, std::size_t source, UniqueFd fd) {
  (void)os_.perf_ioctl(event.attached.fd, PERF_EVENT_IOC_DISABLE, 0);
  auto attached = attach_(std::move(fd), source);
  if (attached) {
    event.attached = std::move(*attached);
  } else {
    (void)os_.perf_ioctl(event.attached.fd, PERF_EVENT_IOC_ENABLE, 0);
  }
}

std::uint64_t CpuEvents::counted(int fd) {
  std::uint64_t count = 0;
  const auto got = os_.read(fd, std::as_writable_bytes(std::span(&count, 1)));
  return got && *got == sizeof count ? count : 0;
}

}  // namespace tailor::bpf
