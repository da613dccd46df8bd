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
    Cpu opened;
    for (std::size_t source = 0; source < events_.size(); ++source) {
      auto pair = open_pair(source, cpu, now);
      // A CPU can go offline at any time; the others still count.
      if (!pair && pair.error().code == ENODEV && cpus.size() > 1) break;
      if (!pair) return capture::explain_open(os_, pair.error(), attrs_[source], -1);
      opened.pairs.push_back(std::move(*pair));
    }
    if (opened.pairs.size() == events_.size()) cpus_[cpu] = std::move(opened);
  }
  open_opposites();
  return Ok{};
}

// The first one of each pair.
Result<CpuEvents::Pair> CpuEvents::open_pair(std::size_t source, int cpu, TimeNs now) {
  const capture::EventSpec& spec = events_[source];
  Pair pair;
  pair.since = now;
  std::uint64_t period = attrs_[source].sample_period;
  if (jitter_ && capture::is_jittered(spec)) {
    const auto [one, other] = draw_.draw_pair(spec);
    period = one;
    pair.opposite = other;
  }
  auto event = open_attached(source, cpu, period);
  if (!event) return event.error();
  pair.events.push_back(std::move(*event));
  return pair;
}

// Where descriptors run out, the first ones do alone.
void CpuEvents::open_opposites() {
  for (auto& [number, cpu] : cpus_) {
    for (std::size_t source = 0; source < cpu.pairs.size(); ++source) {
      Pair& pair = cpu.pairs[source];
      if (pair.opposite == 0) continue;
      auto event = open_attached(source, number, pair.opposite);
      if (!event) return;
      pair.events.push_back(std::move(*event));
      pair.opposite = 0;
    }
  }
}

// It stands still.
Result<CpuEvents::Event> CpuEvents::open_attached(std::size_t source, int cpu, std::uint64_t period) {
  auto fd = open_one(source, cpu, period);
  if (!fd) return fd.error();
  auto attached = attach_(std::move(*fd), source);
  if (!attached) return attached.error();
  // The program's link has started it.
  (void)os_.perf_ioctl(attached->fd, PERF_EVENT_IOC_DISABLE, 0);
  return Event{std::move(*attached)};
}

Result<UniqueFd> CpuEvents::open_one(std::size_t source, int cpu, std::uint64_t period) {
  perf_event_attr attr = attrs_[source];
  attr.sample_period = period;
  return os_.perf_event_open(attr, -1, cpu, -1, 0);
}

void CpuEvents::run(int number, bool runs, TimeNs now) {
  const auto found = cpus_.find(number);
  if (found == cpus_.end() || found->second.runs == runs) return;
  found->second.runs = runs;
  for (Pair& pair : found->second.pairs) {
    pair.next.reset();
    if (!runs) pair.turn_ran += now - pair.since;
    pair.since = now;
    // The event of a CPU that went offline refuses, and has nothing to sample.
    (void)os_.perf_ioctl(pair.now().attached.fd, runs ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
  }
}

void CpuEvents::redraw(TimeNs now) {
  if (!jitter_) return;
  for (auto& [number, cpu] : cpus_) {
    if (!cpu.runs) continue;
    for (std::size_t source = 0; source < cpu.pairs.size(); ++source) {
      if (capture::is_jittered(events_[source])) redraw(cpu.pairs[source], source, number, now);
    }
  }
}

void CpuEvents::redraw(Pair& pair, std::size_t source, int cpu, TimeNs now) {
  if (pair.next) {
    finish_next(pair, source, now);
  } else if (pair.turn_ran + (now - pair.since) >= capture::turn_of(events_[source])) {
    take_turns(pair, now);
    if (pair.now().ran >= capture::redraw_after(events_[source])) begin_next(pair, source, cpu);
  }
}

void CpuEvents::begin_turn(Pair& pair, TimeNs now) {
  pair.turn_ran = 0;
  pair.since = now;
}

void CpuEvents::take_turns(Pair& pair, TimeNs now) {
  pair.now().ran += pair.turn_ran + (now - pair.since);
  begin_turn(pair, now);
  if (pair.events.size() < 2) return;
  (void)os_.perf_ioctl(pair.now().attached.fd, PERF_EVENT_IOC_DISABLE, 0);
  pair.turn = 1 - pair.turn;
  (void)os_.perf_ioctl(pair.now().attached.fd, PERF_EVENT_IOC_ENABLE, 0);
}

// It stays the same until an event has it.
std::uint64_t CpuEvents::next_period(Pair& pair, const capture::EventSpec& spec) {
  if (pair.drawn == 0 && pair.opposite != 0) {
    pair.drawn = std::exchange(pair.opposite, 0);
  } else if (pair.drawn == 0) {
    const auto [one, other] = draw_.draw_pair(spec);
    pair.drawn = one;
    pair.opposite = other;
  }
  return pair.drawn;
}

void CpuEvents::begin_next(Pair& pair, std::size_t source, int cpu) {
  const capture::EventSpec& spec = events_[source];
  Event& event = pair.now();
  const bool had_many = counted(event.attached.fd) / spec.period >= capture::kPeriodsToLose;
  if (!had_many && !runs_beside(spec)) return;
  event.ran = 0;  // also where it stays, so that it is not tried at once again
  const std::uint64_t period = next_period(pair, spec);
  auto fd = open_one(source, cpu, period);
  if (!fd) return;
  if (had_many) return replace(pair, source, std::move(*fd));
  if (!os_.perf_ioctl(fd->get(), PERF_EVENT_IOC_ENABLE, 0)) return;
  pair.next.emplace(Next{std::move(*fd), period + draw_.below(period)});
}

void CpuEvents::finish_next(Pair& pair, std::size_t source, TimeNs now) {
  if (counted(pair.next->fd.get()) < pair.next->ready) return;
  UniqueFd fd = std::move(pair.next->fd);
  pair.next.reset();
  pair.now().ran = 0;
  begin_turn(pair, now);
  replace(pair, source, std::move(fd));
}

// Nothing is counted twice: the old one stops first.
void CpuEvents::replace(Pair& pair, std::size_t source, UniqueFd fd) {
  Event& event = pair.now();
  (void)os_.perf_ioctl(event.attached.fd, PERF_EVENT_IOC_DISABLE, 0);
  auto attached = attach_(std::move(fd), source);
  if (attached) {
    event.attached = std::move(*attached);
    pair.drawn = 0;
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
