#include "daemon/process/plan_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace tailor::process {

Status PlanIndex::add(PlanState plan) {
  if (live_.contains(plan.id)) return invalid(fmt::format("plan {}: loaded twice", plan.id));
  if (live_.size() >= limits_.plans) {
    return exhausted(fmt::format("plan {}: {} are loaded already", plan.id, live_.size()));
  }
  const std::uint32_t k = key(plan.slot, plan.generation);
  const auto last = after(k, kTimeMax);
  if (last != entries_.begin() && std::prev(last)->key == k && std::prev(last)->plan->unloaded == kTimeMax) {
    retire(std::prev(last)->plan->id, plan.loaded);
    ++replaced_;
  }
  const auto at = after(k, plan.loaded);
  auto kept = std::make_unique<PlanState>(std::move(plan));
  entries_.insert(at, {k, kept->loaded, kept.get()});
  live_.emplace(kept->id, std::move(kept));
  return Ok{};
}

bool PlanIndex::remove(PlanId id, TimeNs time) {
  if (!live_.contains(id)) return false;
  retire(id, time);
  return true;
}

void PlanIndex::remove_unseen(std::uint64_t seen, TimeNs time) {
  std::vector<PlanId> gone;
  for (const auto& [id, plan] : live_) {
    if (plan->seen != seen) gone.push_back(id);
  }
  for (PlanId id : gone) retire(id, time);
}

const PlanState* PlanIndex::search(std::uint32_t slot, std::uint32_t generation, TimeNs time) const {
  const std::uint32_t k = key(slot, generation);
  const auto next = after(k, time);
  if (next == entries_.begin()) return nullptr;
  const Entry& entry = *std::prev(next);
  if (entry.key != k || !entry.plan->live_at(time)) return nullptr;
  if (entry.plan->unloaded == kTimeMax) {
    std::atomic_ref(found_[slot % kFound]).store(entry.plan, std::memory_order_relaxed);
  }
  return entry.plan;
}

PlanState* PlanIndex::live(PlanId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second.get();
}

void PlanIndex::trim(TimeNs watermark) {
  const auto stays =
      std::ranges::upper_bound(retired_, watermark, {}, [](const auto& p) { return p->unloaded; });
  forget(static_cast<std::size_t>(stays - retired_.begin()));
}

// The first entry that is of a later key, or of this key and loaded after `time`. Without a branch on what is
// compared: tags are as good as random.
std::vector<PlanIndex::Entry>::const_iterator PlanIndex::after(std::uint32_t k, TimeNs time) const {
  const Entry* first = entries_.data();
  std::size_t count = entries_.size();
  while (count > 0) {
    const std::size_t half = (count + 1) / 2;
    const Entry& entry = first[half - 1];
    const bool before = (entry.key < k) | ((entry.key == k) & (entry.loaded <= time));
    first += half & -std::size_t{before};
    count -= half;
  }
  return entries_.begin() + (first - entries_.data());
}

void PlanIndex::retire(PlanId id, TimeNs time) {
  auto node = live_.extract(id);
  std::unique_ptr<PlanState> plan = std::move(node.mapped());
  const PlanState*& found = found_[plan->slot % kFound];
  if (found == plan.get()) found = nullptr;
  plan->unloaded = std::max(time, plan->loaded);
  if (!retired_.empty()) plan->unloaded = std::max(plan->unloaded, retired_.back()->unloaded);
  retired_.push_back(std::move(plan));
  // Not one by one: each time all entries are looked through.
  if (retired_.size() > limits_.plans) forget(limits_.plans / 8 + 1);
}

void PlanIndex::forget(std::size_t oldest) {
  if (oldest == 0) return;
  const auto end = retired_.begin() + static_cast<std::ptrdiff_t>(oldest);
  if (oldest == 1) {
    const PlanState* plan = retired_.front().get();
    const std::uint32_t k = key(plan->slot, plan->generation);
    auto entry = after(k, plan->loaded);
    while (entry != entries_.begin() && std::prev(entry)->key == k && std::prev(entry)->plan != plan) --entry;
    if (entry != entries_.begin()) entries_.erase(std::prev(entry));
  } else {
    std::unordered_set<const PlanState*> gone;
    for (auto plan = retired_.begin(); plan != end; ++plan) gone.insert(plan->get());
    std::erase_if(entries_, [&](const Entry& entry) { return gone.contains(entry.plan); });
  }
  retired_.erase(retired_.begin(), end);
}

}  // namespace tailor::process
