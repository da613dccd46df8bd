#include "daemon/bpf/cpu_events.h"

#include <linux/perf_event.h>

#include <cerrno>
#include <utility>

#include "daemon/capture/host/denial.h"

namespace tailor::bpf {

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
      auto event = open_one(source, cpu, now);
      // A CPU can go offline at any time; the others still count.
      if (!event && event.error().code == ENODEV && cpus.size() > 1) break;
      if (!event) return capture::explain_open(os_, event.error(), attrs_[source], -1);
      opened.events.push_back(std::move(*event));
    }
    if (opened.events.size() < events_.size()) continue;
    cpus_[cpu] = std::move(opened);
    run(cpu, false);
  }
  return Ok{};
}

Result<CpuEvents::Event> CpuEvents::open_one(std::size_t source, int cpu, TimeNs now) {
  perf_event_attr attr = attrs_[source];
  if (jitter_) attr.sample_period = draw_.draw(events_[source]);
  auto fd = os_.perf_event_open(attr, -1, cpu, -1, 0);
  if (!fd) return fd.error();
  auto attached = attach_(std::move(*fd), source);
  if (!attached) return attached.error();
  return Event{std::move(*attached), now};
}

void CpuEvents::run(int number, bool runs) {
  const auto found = cpus_.find(number);
  if (found == cpus_.end() || found->second.runs == runs) return;
  found->second.runs = runs;
  for (const Event& event : found->second.events) {
    // The event of a CPU that went offline refuses, and has nothing to sample.
    (void)os_.perf_ioctl(event.attached.fd, runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

void CpuEvents::redraw(TimeNs now) {
  if (!jitter_) return;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.runs) continue;
    for (std::size_t source = 0; source < cpu.events.size(); ++source) {
      Event& old = cpu.events[source];
      if (!capture::is_jittered(events_[source]) || now - old.drawn < capture::redraw_after(events_[source]))
        continue;
      old.drawn = now;  // also where it stays, so that it is not tried at once again
      (void)os_.perf_ioctl(old.attached.fd, PERF_EVENT_IOC_DISABLE, 0);
      auto fresh = open_one(source, number, now);
      if (fresh) {
        old = std::move(*fresh);
      } else {
        (void)os_.perf_ioctl(old.attached.fd, PERF_EVENT_IOC_ENABLE, 0);
      }
    }
  }
}

}  // namespace tailor::bpf
