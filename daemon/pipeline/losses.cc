#include "daemon/pipeline/losses.h"

#include <algorithm>

#include "daemon/profile/accounting.h"

namespace tailor::pipeline {
namespace {

bool is_loss(const capture::Event& event) {
  return event.kind == capture::Kind::kLost || event.kind == capture::Kind::kLostSamples ||
         event.kind == capture::Kind::kThrottle;
}

}  // namespace

// Losses belong to the process whose ring it is, whatever process ran when the kernel noticed.
void Losses::take(const capture::RingLayout& layout, const capture::Batch& batch, TimeNs horizon,
                  TimeNs now) {
  ProcessEntry* entry = nullptr;
  TimeNs before = horizon;  // the last record that is not lost: what was lost is newer
  for (const capture::Event& event : batch.events) {
    count_gaps(gaps_.add(layout, event), now);
    if (!is_loss(event)) {
      before = std::max(before, event.time);
      continue;
    }
    if (layout.pid == capture::kOfKernelCode) {
      // Its records are no samples: names are missing, and that is said.
      kernel_code_.lost(event.time);
      problems_.add({}, "records of code that the kernel loaded were lost");
      continue;
    }
    if (layout.shared) {
      // No sample was lost, but this process may have mapped something meanwhile.
      if (const ProcessEntry* of = accounts_.owner(layout.pid, now))
        mappings_.lost(of->id(), before == kTimeMin ? event.time : std::min(before, event.time));
      continue;
    }
    if (entry == nullptr && layout.pid > 0) entry = accounts_.owner(layout.pid, now);
    count(layout, event, entry);
  }
}

void Losses::count(const capture::RingLayout& layout, const capture::Event& event, ProcessEntry* entry) {
  profile::Accounting& totals = accounts_.of(entry);
  profile::CpuLosses& of_cpu = totals.of_cpu(layout.cpu);
  if (event.kind == capture::Kind::kLost) {
    totals.lost_ring += event.weight;
    of_cpu.lost_ring += event.weight;
  } else if (event.kind == capture::Kind::kLostSamples) {
    totals.lost_hardware += event.weight;
    of_cpu.lost_hardware += event.weight;
  } else {
    ++totals.throttled;
    ++of_cpu.throttled;
  }
}

void Losses::count_gaps(const std::vector<capture::ThrottleGap>& ended, TimeNs now) {
  for (const capture::ThrottleGap& gap : ended) {
    profile::Accounting& totals = accounts_.of(gap.pid > 0 ? accounts_.owner(gap.pid, now) : nullptr);
    totals.gap_ns += gap.ns;
    totals.of_cpu(gap.cpu).gap_ns += gap.ns;
  }
}

void Losses::ring_closed(capture::RingIndex ring, TimeNs now) {
  count_gaps(gaps_.close(ring, now), now);
}

// Samples of others that the reader removed were received too, and belong to none of ours.
void Losses::capture_ended(const CaptureEnded& event, ProcessEntry* entry) {
  if (event.records_filtered != 0) {
    profile::Accounting& nobodys = accounts_.of(nullptr);
    nobodys.received += event.samples_filtered;
    nobodys.filtered += event.samples_filtered;
    nobodys.records_filtered += event.records_filtered;
  }
  if (event.broken_rings != 0) accounts_.of(entry).broken_rings += event.broken_rings;
}

}  // namespace tailor::pipeline
