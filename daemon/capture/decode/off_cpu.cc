#include "daemon/capture/decode/off_cpu.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "daemon/capture/decode/register_masks.h"

namespace tailor::capture {

void OffCpuTracker::set_sources(const std::vector<profile::Source>& sources) {
  is_switch_.clear();
  for (const profile::Source& source : sources) {
    if (source.index >= is_switch_.size()) is_switch_.resize(source.index + 1u);
    is_switch_[source.index] = source.unit == profile::Unit::kNsOffCpu;
  }
}

// Journals that are older have the tag alone, or no state.
bool OffCpuTracker::is_slot(const Event& event) {
  constexpr std::uint64_t kTag = register_bit(kSlotPlace), kBoth = kTag | register_bit(kWaitPlace);
  return event.regs_mask == kTag || (event.regs_mask & ~kStatePlaces) == kBoth;
}

OffCpuTracker::Slot OffCpuTracker::slot_of(const Batch& batch, const Event& event) {
  Slot slot{.tag = batch.reg(event, kSlotPlace).value_or(0),
            .engine_wait = static_cast<std::uint32_t>(batch.reg(event, kWaitPlace).value_or(0))};
  if (const std::uint64_t* state = batch.state(event)) slot.state = {state[0], state[1], state[2]};
  return slot;
}

// Puts tag and state among the registers of the sample, in the places of the slot. perf gave it no state.
void OffCpuTracker::put_slot(Batch& batch, const Slot& slot) {
  Event& sample = batch.events.front();
  sample.engine_wait = slot.engine_wait;
  constexpr auto kTag = static_cast<std::uint32_t>(register_bit(kSlotPlace));
  constexpr auto kState = static_cast<std::uint32_t>(kStatePlaces);
  const std::uint32_t mask = sample.regs_mask & ~kState;
  const auto before = static_cast<std::ptrdiff_t>(std::popcount(mask & (kTag - 1)));
  std::vector<std::uint64_t> values;
  if (mask != 0) {
    const auto first = batch.words.begin() + sample.regs_offset;
    values.assign(first, first + std::popcount(mask));
  }
  if ((mask & kTag) != 0) {
    values[static_cast<std::size_t>(before)] = slot.tag;
  } else {
    values.insert(values.begin() + before, slot.tag);
  }
  // Their places are behind all others.
  if (slot.state) values.insert(values.end(), slot.state->begin(), slot.state->end());
  sample.regs_mask = mask | kTag | (slot.state ? kState : 0);
  sample.regs_offset = static_cast<std::uint32_t>(batch.words.size());
  batch.words.insert(batch.words.end(), values.begin(), values.end());
}

bool OffCpuTracker::keep(const Batch& batch, const Event& event) {
  if (event.kind != Kind::kSample) return false;
  if (is_slot(event)) {
    keep_slot(event.tid, slot_of(batch, event));
    return true;
  }
  auto [wait, added] = waits_.try_emplace(event.tid);
  if (!added) {
    ++counts_.abandoned;
    wait->second.clear();
  }
  wait->second.append(batch, event);
  if (const auto slot = slots_.extract(event.tid); !slot.empty()) put_slot(wait->second, slot.mapped());
  return true;
}

void OffCpuTracker::keep_slot(std::int32_t tid, const Slot& slot) {
  const auto wait = waits_.find(tid);
  if (wait != waits_.end()) {
    put_slot(wait->second, slot);
  } else {
    slots_[tid] = slot;
  }
}

void OffCpuTracker::left(const Event& switch_out) {
  auto wait = waits_.find(switch_out.tid);
  if (wait != waits_.end()) wait->second.events.front().flag_preempted = switch_out.flag_preempted;
}

Batch* OffCpuTracker::returned(const Event& switch_in) {
  slots_.erase(switch_in.tid);  // of a switch without a sample
  auto wait = waits_.find(switch_in.tid);
  if (wait == waits_.end()) return nullptr;
  last_ = std::move(wait->second);
  waits_.erase(wait);
  ++counts_.returned;
  end(last_, switch_in.time);
  return &last_;
}

void OffCpuTracker::end(Batch& wait, TimeNs time) {
  Event& sample = wait.events.front();
  sample.weight = static_cast<std::uint64_t>(time - sample.time);
  sample.time = time;
  sample.wait = sample.flag_preempted ? profile::Wait::kRunnable : names_.of(wait.kernel_chain(sample));
  if (sample.flag_preempted) sample.engine_wait = 0;
}

std::vector<Batch> OffCpuTracker::cut(std::int32_t pid, TimeNs time) {
  std::vector<Batch> open;
  for (auto wait = waits_.begin(); wait != waits_.end();) {
    const Event& sample = wait->second.events.front();
    if ((pid != kAllProcesses && sample.pid != pid) || sample.time > time) {
      ++wait;
      continue;
    }
    open.push_back(std::move(wait->second));
    wait = waits_.erase(wait);
    ++counts_.cut;
    end(open.back(), time);
  }
  std::ranges::sort(open, {}, [](const Batch& wait) { return wait.events.front().tid; });
  return open;
}

void OffCpuTracker::ended(const Event& exit) {
  counts_.abandoned += waits_.erase(exit.tid);
  slots_.erase(exit.tid);
}

}  // namespace tailor::capture
