#include "daemon/capture/decode/event_sorter.h"

#include <utility>

namespace tailor::capture {
namespace {

// Memory for this many events of the past is not worth the copying.
constexpr std::size_t kFewEvents = 65536;
// Batches whose memory is kept for the next ones.
constexpr std::size_t kSpareBatches = 64;

std::size_t bytes_of(const Batch& batch) {
  return batch.events.capacity() * sizeof(Event) + batch.words.capacity() * sizeof(std::uint64_t) +
         batch.text.capacity();
}

}  // namespace

void EventSorter::add(Intake&& intake, Batch& late) {
  counts_.received += intake.order.size();
  if (intake.order.empty()) {
    intake.clear();
    return;
  }
  const std::uint32_t number = hold(intake);
  Held& held = held_[number];
  auto next = intake.order.begin();
  // What is in order behind all that waits, as a ring's chunk nearly always is, needs no sorting.
  if (fresh_.empty()) {
    TimeNs last = first_ < keys_.size() ? keys_.back().time : watermark_;
    for (; next != intake.order.end() && next->time >= last; ++next) {
      last = next->time;
      keys_.push_back({next->time, number, next->at});
    }
  }
  for (; next != intake.order.end(); ++next) {
    if (next->time < watermark_) {
      ++counts_.late;
      late.append(held.batch, held.event(*next));
      --held.left;
    } else {
      fresh_.push_back({next->time, number, next->at});
    }
  }
  intake.order.clear();
  if (held.left == 0) release(number);
}

// Takes all but the order. Swaps, so that memory goes round.
std::uint32_t EventSorter::hold(Intake& intake) {
  std::uint32_t number;
  if (free_.empty()) {
    number = static_cast<std::uint32_t>(held_.size());
    held_.emplace_back();
  } else {
    number = free_.back();
    free_.pop_back();
  }
  Held& held = held_[number];
  std::swap(held.batch, intake.batch);
  held.formats = std::move(intake.formats);
  held.events = held.left = intake.order.size();
  held.bytes = bytes_of(held.batch);
  held_events_ += held.events;
  held_bytes_ += held.bytes;
  intake.batch.clear();
  return number;
}

void EventSorter::release(std::uint32_t batch) {
  Held& held = held_[batch];
  held_events_ -= held.events;
  held_bytes_ -= held.bytes;
  if (free_.size() < kSpareBatches) {
    held.batch.clear();
  } else {
    held.batch = {};
  }
  free_.push_back(batch);
}

// Merge sort over the runs that are there already: a ring's chunk is nearly in order, so there are few.
void EventSorter::sort_runs(std::vector<Key>& keys, std::vector<Key>& scratch) {
  std::vector<std::size_t> ends;
  for (std::size_t i = 1; i <= keys.size(); ++i) {
    if (i == keys.size() || earlier(keys[i], keys[i - 1])) ends.push_back(i);
  }
  scratch.resize(keys.size());
  while (ends.size() > 1) {
    std::vector<std::size_t> merged;
    std::size_t begin = 0;
    for (std::size_t run = 0; run < ends.size(); run += 2) {
      std::size_t middle = ends[run];
      std::size_t end = run + 1 < ends.size() ? ends[run + 1] : middle;
      std::merge(keys.begin() + begin, keys.begin() + middle, keys.begin() + middle, keys.begin() + end,
                 scratch.begin() + begin, earlier);
      merged.push_back(end);
      begin = end;
    }
    keys.swap(scratch);
    ends.swap(merged);
  }
}

// What is fresh is later than most of what waits: only the end of it is moved.
void EventSorter::merge_fresh() {
  if (fresh_.empty()) return;
  sort_runs(fresh_, scratch_);
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto touched = std::upper_bound(begin, keys_.end(), fresh_.front(), earlier);
  scratch_.assign(touched, keys_.end());
  const auto at = static_cast<std::size_t>(touched - keys_.begin());
  if (scratch_.empty()) {
    keys_.insert(keys_.end(), fresh_.begin(), fresh_.end());
    fresh_.clear();
    return;
  }
  keys_.resize(keys_.size() + fresh_.size());
  std::merge(scratch_.begin(), scratch_.end(), fresh_.begin(), fresh_.end(),
             keys_.begin() + static_cast<std::ptrdiff_t>(at), earlier);
  fresh_.clear();
}

// Moves the watermark; returns the end of the keys that leave.
std::size_t EventSorter::pass(TimeNs horizon) {
  const bool overfull = pending() > max_pending_;
  if (horizon <= watermark_ && !overfull) return first_;
  merge_fresh();
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first_);
  const auto passed = std::lower_bound(begin, keys_.end(), Key{horizon, 0, 0}, earlier);
  auto end = static_cast<std::size_t>(passed - keys_.begin());
  watermark_ = std::max(watermark_, horizon);
  if (keys_.size() - end > max_pending_) {
    const std::size_t forced = keys_.size() - end - max_pending_ / 2;
    counts_.forced += forced;
    end += forced;
    watermark_ = std::max(watermark_, keys_[end - 1].time);
  }
  counts_.emitted += end - first_;
  return end;
}

// Memory stays within a constant of what is pending.
void EventSorter::tidy() {
  if (first_ == keys_.size()) {
    keys_.clear();
    first_ = 0;
  } else if (first_ > keys_.size() / 2) {
    keys_.erase(keys_.begin(), keys_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }
  if (held_events_ > 2 * pending() + kFewEvents) compact();
}

// Few events hold the memory of many that came with them: they move together.
void EventSorter::compact() {
  Intake together;
  for (std::vector<Key>* keys : {&keys_, &fresh_}) {
    for (std::size_t i = keys == &keys_ ? first_ : 0; i < keys->size(); ++i) {
      Key& key = (*keys)[i];
      const Held& held = held_[key.batch];
      together.batch.append(held.batch, held.event({key.time, key.at}));
      key.batch = 0;
      key.at = static_cast<std::uint32_t>(together.order.size());
      together.order.push_back({key.time, key.at});
    }
  }
  held_.clear();
  free_.clear();
  held_events_ = held_bytes_ = 0;
  if (!together.order.empty()) hold(together);
}

}  // namespace tailor::capture
