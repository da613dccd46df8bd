// How the rings of a PerfRecording are read, and what they and its events say at the end.
#include <sys/ioctl.h>

#include <algorithm>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "daemon/capture/decode/told_record.h"
#include "daemon/capture/host/event_counts.h"
#include "daemon/capture/host/perf_recording.h"

namespace tailor::capture {

void PerfRecording::number_rings(RingIndex first) {
  for (RingSlot& slot : rings_) slot.layout.ring = first++;
}

void PerfRecording::read_ring(RingSlot& slot, std::vector<std::byte>& bytes) {
  std::size_t before = bytes.size();
  bytes_ += slot.ring->drain(bytes);
  scan_records(std::span(bytes).subspan(before), slot.scan);
}

void PerfRecording::read_early() {
  for (RingSlot& slot : rings_) read_ring(slot, slot.early);
}

void PerfRecording::drain(ChunkSink& sink) {
  look_again();
  if (switches_) {
    if (const auto counted = switches_->look(os_)) {
      switches_per_second_ = *counted;
      switches_.reset();
    }
  }
  std::vector<RingChunk> chunks;
  for (RingSlot& slot : rings_) {
    if (std::exchange(slot.layout_changed, false)) sink.on_ring(slot.layout);
    RingChunk& chunk = chunks.emplace_back(slot.layout.ring, std::exchange(slot.early, {}));
    read_ring(slot, chunk.bytes);
    if (!per_cpu_) births_ += slot.scan.forked.size();
    if (next_look_ != kTimeMax) inherited_.insert(slot.scan.forked.begin(), slot.scan.forked.end());
    slot.scan.forked.clear();
    if (filter_) filter_->learn(chunk.bytes);
  }
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (filter_) filter_->apply(rings_[i].layout, chunks[i].bytes);
    if (!chunks[i].bytes.empty()) sink.on_chunk(std::move(chunks[i]));
  }
}

void PerfRecording::finish(ChunkSink& sink) {
  next_look_ = kTimeMax;
  switches_.reset();
  set_enabled(false);
  drain(sink);
  for (RingSlot& slot : rings_) {
    tell_untold_losses(slot, sink);
    sink.on_ring_closed(slot.layout.ring);
  }
}

bool PerfRecording::set_enabled(bool enabled) {
  enabled_ = enabled;
  for (const OpenEvent& event : events_) set_enabled(event, enabled);
  return true;
}

// An event whose thread has ended refuses, and needs nothing.
void PerfRecording::set_enabled(const OpenEvent& event, bool enabled) {
  const unsigned long request = enabled ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE;
  if (event.leader) (void)os_.perf_ioctl(event.leader.get(), request, 0);
  (void)os_.perf_ioctl(event.fd.get(), request, 0);
}

// The kernel writes a LOST record when there is room again: at the end of a recording some losses are known
// to the events' counters only.
void PerfRecording::tell_untold_losses(RingSlot& slot, ChunkSink& sink) {
  std::uint64_t lost = kernel_losses(slot);
  if (lost <= slot.scan.lost) return;
  RingChunk chunk{slot.layout.ring, lost_record(slot.layout, os_.now(), lost - slot.scan.lost)};
  slot.scan.lost = lost;
  sink.on_chunk(std::move(chunk));
}

std::uint64_t PerfRecording::kernel_losses(const RingSlot& slot) {
  std::uint64_t lost = 0;
  for (std::size_t index : slot.events) {
    const OpenEvent& event = events_[index];
    if (auto counts = read_event_counts(os_, event.fd.get(), attrs_[event.spec])) lost += counts->lost;
  }
  return lost;
}

int PerfRecording::poll_fd(std::size_t index) const {
  const RingSlot& slot = rings_[index];
  return slot.polled < slot.events.size() ? events_[slot.events[slot.polled]].fd.get() : -1;
}

int PerfRecording::next_poll_fd(std::size_t index) {
  RingSlot& slot = rings_[index];
  if (slot.polled < slot.events.size()) ++slot.polled;
  return poll_fd(index);
}

CaptureCounts PerfRecording::counts() {
  CaptureCounts counts;
  counts.bytes = bytes_;
  counts.filtered = filter_ ? filter_->removed() : 0;
  counts.filtered_samples = filter_ ? filter_->removed_samples() : 0;
  for (const RingSlot& slot : rings_) {
    counts.lost += std::max(kernel_losses(slot), slot.scan.lost);
    counts.lost_said += slot.scan.lost;
    counts.broken_rings += slot.ring->broken();
  }
  counts.times = counted_times();
  return counts;
}

// The event of a thread and a CPU is to count whenever the thread runs, wherever that is, and counts while it
// runs on this CPU. So what the thread's events counted on all CPUs is held against the longest of their
// times.
std::vector<CountedTime> PerfRecording::counted_times() {
  std::map<std::pair<std::size_t, pid_t>, EventCounts> threads;
  for (const OpenEvent& event : events_) {
    const perf_event_attr& attr = attrs_[event.spec];
    if (!(attr.read_format & PERF_FORMAT_TOTAL_TIME_RUNNING)) continue;
    const auto counts = read_event_counts(os_, event.fd.get(), attr);
    if (!counts) continue;
    EventCounts& sum = threads[{event.spec, event.tid}];
    sum.running_ns += counts->running_ns;
    sum.enabled_ns = event.tid == kAllProcesses ? sum.enabled_ns + counts->enabled_ns
                                                : std::max(sum.enabled_ns, counts->enabled_ns);
  }
  std::vector<CountedTime> times;
  for (const auto& [of, counts] : threads) {
    const std::string& name = options_.events[of.first].name;
    if (times.empty() || times.back().source != name) times.push_back({name, 0, 0});
    times.back().enabled_ns += counts.enabled_ns;
    times.back().running_ns += counts.running_ns;
  }
  return times;
}

}  // namespace tailor::capture
