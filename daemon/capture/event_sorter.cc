#include "daemon/capture/event_sorter.h"

#include <algorithm>
#include <utility>

namespace tailor::capture {

void EventSorter::add(const Batch& batch, Batch& late) {
  counts_.received += batch.events.size();
  Offsets shift = pending_.take_parts(batch);
  for (const Event& event : batch.events) {
    if (event.time < watermark_) {
      ++counts_.late;
      late.append(batch, event);
      continue;
    }
    keys_.push_back({event.time, static_cast<std::uint32_t>(pending_.events.size())});
    pending_.append_shifted(event, shift);
  }
}

// Merge sort over the runs that are there already: a ring's chunk is nearly in order, so there are few.
void EventSorter::sort_keys() {
  auto earlier = [](const Key& a, const Key& b) { return a.time < b.time; };
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= keys_.size(); ++i) {
    if (i == keys_.size() || earlier(keys_[i], keys_[i - 1])) ends.push_back(i);
  }
  scratch_.resize(keys_.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      std::size_t middle = ends[run];
      std::size_t end = run + 1 < ends.size() ? ends[run + 1] : middle;
      std::merge(keys_.begin() + begin, keys_.begin() + middle, keys_.begin() + middle, keys_.begin() + end,
                 scratch_.begin() + begin, earlier);
      merged.push_back(end);
      begin = end;
    }
    keys_.swap(scratch_);
    ends.swap(merged);
  }
}

// The first `count` keys leave with all that events refer to; what stays is copied together, so that words
// and text of what has left do not pile up.
void EventSorter::emit(std::size_t count, Batch& in_order) {
  rest_.clear();
  scratch_.clear();
  for (std::size_t i = count; i < keys_.size(); ++i) {
    scratch_.push_back({keys_[i].time, static_cast<std::uint32_t>(rest_.events.size())});
    rest_.append(pending_, pending_.events[keys_[i].index]);
  }
  Offsets shift = in_order.take_parts(pending_);
  in_order.events.reserve(in_order.events.size() + count);
  for (std::size_t i = 0; i < count; ++i) in_order.append_shifted(pending_.events[keys_[i].index], shift);
  counts_.emitted += count;
  std::swap(pending_, rest_);
  keys_.swap(scratch_);
}

void EventSorter::advance(TimeNs horizon, Batch& in_order) {
  bool overfull = keys_.size() > max_pending_;
  if (horizon <= watermark_ && !overfull) return;
  sort_keys();
  auto passed = std::ranges::lower_bound(keys_, horizon, {}, &Key::time);
  auto count = static_cast<std::size_t>(passed - keys_.begin());
  watermark_ = std::max(watermark_, horizon);
  if (keys_.size() - count > max_pending_) {
    std::size_t forced = keys_.size() - count - max_pending_ / 2;
    counts_.forced += forced;
    count += forced;
    watermark_ = std::max(watermark_, keys_[count - 1].time);
  }
  emit(count, in_order);
}

}  // namespace tailor::capture
