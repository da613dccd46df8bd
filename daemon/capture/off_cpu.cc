#include "daemon/capture/off_cpu.h"

#include <utility>

namespace tailor::capture {

void OffCpuTracker::set_sources(const std::vector<Source>& sources) {
  is_switch_.clear();
  for (const Source& source : sources) {
    if (source.index >= is_switch_.size()) is_switch_.resize(source.index + 1u);
    is_switch_[source.index] = source.unit == Unit::kNsOffCpu;
  }
}

bool OffCpuTracker::keep(const Batch& batch, const Event& event) {
  if (event.kind != Kind::kSample) return false;
  auto [wait, added] = waits_.try_emplace(event.tid);
  if (!added) {
    ++counts_.abandoned;
    wait->second.clear();
  }
  wait->second.append(batch, event);
  return true;
}

void OffCpuTracker::left(const Event& switch_out) {
  auto wait = waits_.find(switch_out.tid);
  if (wait != waits_.end()) wait->second.events.front().flag_preempted = switch_out.flag_preempted;
}

Batch* OffCpuTracker::returned(const Event& switch_in) {
  auto wait = waits_.find(switch_in.tid);
  if (wait == waits_.end()) return nullptr;
  last_ = std::move(wait->second);
  waits_.erase(wait);
  ++counts_.returned;
  Event& sample = last_.events.front();
  sample.weight = static_cast<std::uint64_t>(switch_in.time - sample.time);
  sample.time = switch_in.time;
  sample.wait = sample.flag_preempted ? Wait::kRunnable : names_.of(last_.kernel_chain(sample));
  return &last_;
}

void OffCpuTracker::ended(const Event& exit) {
  counts_.abandoned += waits_.erase(exit.tid);
}

}  // namespace tailor::capture
