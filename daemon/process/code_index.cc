#include "daemon/process/code_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tailor::process {

Status CodeIndex::add(CodeState code) {
  if (live_.contains(code.id)) return invalid(fmt::format("code object {}: loaded twice", code.id));
  if (live_.size() >= limits_.code_objects) {
    return exhausted(fmt::format("code object {}: {} are loaded already", code.id, live_.size()));
  }
  while (bytes_ + code.bytes() > limits_.bytes && !retired_.empty()) {
    forget_oldest();
    ++forgotten_early_;
  }
  if (bytes_ + code.bytes() > limits_.bytes) {
    return exhausted(fmt::format("code object {}: row tables and machine code would take more than {} bytes",
                                 code.id, limits_.bytes));
  }
  const TimeNs end = end_by_newer(code);
  end_older({code.base, code.end, code.loaded, code.loaded});
  bytes_ += code.bytes();
  lowest_ = highest_ == 0 ? code.base : std::min(lowest_, code.base);
  highest_ = std::max(highest_, code.end);
  auto kept = std::make_unique<CodeState>(std::move(code));
  number_rows(*kept);
  insert(std::move(kept), end);
  return Ok{};
}

void CodeIndex::end_code(std::uint64_t begin, std::uint64_t end, TimeNs loaded_before, TimeNs time) {
  const bool none_is_there = begin >= highest_ || end <= lowest_;
  if (none_is_there || loaded_before == kTimeMin) return;
  end_older({begin, end, loaded_before - 1, std::max(loaded_before, time)});
}

// When the first newer one that overlaps it was loaded.
TimeNs CodeIndex::end_by_newer(const CodeState& code) const {
  TimeNs end = kTimeMax;
  const auto look_at = [&](TimeNs loaded) {
    if (loaded > code.loaded) end = std::min(end, loaded);
  };
  const std::size_t first = first_ending_after(code.base), last = first_beginning_at(code.end, first);
  for (std::size_t i = first; i < last; ++i) look_at(by_end_[i]->loaded);
  for (std::size_t i = ended_after(code.loaded); i < retired_.size(); ++i) {
    if (retired_[i].overlaps(code.base, code.end)) look_at(retired_[i].loaded);
  }
  return end;
}

void CodeIndex::end_older(const Ending& by) {
  const std::size_t first = first_ending_after(by.begin), last = first_beginning_at(by.end, first);
  const auto is_older = [&](const CodeState& each) { return each.loaded <= by.loaded_by; };
  for (std::size_t i = first; i < last; ++i) {
    if (is_older(*by_end_[i])) await(*by_end_[i]);
  }
  cut_retired(by);
  end_live(first, last, by.time, is_older);
}

// Those that were to end later.
void CodeIndex::cut_retired(const Ending& by) {
  const auto from = retired_.begin() + static_cast<std::ptrdiff_t>(ended_after(by.time));
  bool any = false;
  for (auto each = from; each != retired_.end(); ++each) {
    if (each->loaded > by.loaded_by || !each->overlaps(by.begin, by.end)) continue;
    each->unloaded = by.time;
    any = true;
  }
  if (any) {
    std::stable_partition(from, retired_.end(),
                          [&](const Retired& each) { return each.unloaded <= by.time; });
  }
}

// Among the live ones, or among those that are over if it is late.
void CodeIndex::insert(std::unique_ptr<CodeState> code, TimeNs end) {
  if (end != kTimeMax) {
    await(*code);
    const std::size_t before = retired_.size();
    retire(std::move(code), end);
    return settle(before);
  }
  const auto at = static_cast<std::ptrdiff_t>(first_ending_after(code->base));
  ends_.insert(ends_.begin() + at, code->end);
  by_end_.insert(by_end_.begin() + at, code.get());
  live_.emplace(code->id, std::move(code));
}

// What is beyond the limit counts as unheard of: its unloading will be refused.
void CodeIndex::await(const CodeState& code) {
  ++replaced_;
  awaited_.insert_or_assign(code.id, Awaited{code.loaded, code.seen});
  if (awaited_.size() > limits_.retired_code) awaited_.erase(awaited_.begin());
}

bool CodeIndex::remove(CodeId id, TimeNs time) {
  const auto live = live_.find(id);
  const auto awaited = awaited_.find(id);
  const TimeNs live_since = live == live_.end() ? kTimeMax : live->second->loaded;
  const TimeNs awaited_since = awaited == awaited_.end() ? kTimeMax : awaited->second.loaded;
  const bool of_live = live_since <= time && (awaited_since > time || awaited_since <= live_since);
  if (of_live) {
    const std::size_t at = first_ending_after(live->second->base);
    end_live(at, at + 1, time, [](const CodeState&) { return true; });
  } else if (awaited_since <= time) {
    shorten(id, awaited_since, time);
    awaited_.erase(awaited);
  }
  return live_since != kTimeMax || awaited_since != kTimeMax;
}

// The end that a newer one gave it, if its own was earlier.
void CodeIndex::shorten(CodeId id, TimeNs loaded, TimeNs time) {
  const auto first = retired_.begin() + static_cast<std::ptrdiff_t>(ended_after(time));
  const auto found = std::find_if(
      first, retired_.end(), [&](const Retired& each) { return each.id == id && each.loaded == loaded; });
  if (found == retired_.end()) return;
  found->unloaded = time;
  std::rotate(first, found, std::next(found));
}

std::vector<CodeId> CodeIndex::remove_unseen(std::uint64_t seen, TimeNs time) {
  std::vector<CodeId> gone;
  for (const auto& [id, code] : live_) {
    if (code->seen != seen) gone.push_back(id);
  }
  end_live(0, by_end_.size(), time, [&](const CodeState& code) { return code.seen != seen; });
  std::erase_if(awaited_, [&](const auto& each) { return each.second.seen != seen; });
  return gone;
}

const CodeState* CodeIndex::search(std::uint64_t address, TimeNs time) const {
  const std::size_t at = first_ending_after(address);
  if (at < by_end_.size()) {
    const CodeState* code = by_end_[at];
    if (code->base <= address && code->loaded <= time) {
      std::atomic_ref(found_[found_at(address)]).store(code, std::memory_order_relaxed);
      return code;
    }
  }
  // Few: what was unloaded between `time` and now.
  for (auto each = retired_.rbegin(); each != retired_.rend() && each->unloaded > time; ++each) {
    if (each->base <= address && address < each->end && each->loaded <= time) return each->code.get();
  }
  return nullptr;
}

CodeState* CodeIndex::live(CodeId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second.get();
}

void CodeIndex::trim(TimeNs watermark) {
  while (!retired_.empty() && retired_.front().unloaded <= watermark) forget_oldest();
}

// Without a branch on what is compared: addresses of samples are as good as random.
std::size_t CodeIndex::first_ending_after(std::uint64_t address) const {
  const std::uint64_t* first = ends_.data();
  std::size_t count = ends_.size();
  while (count > 0) {
    const std::size_t half = (count + 1) / 2;
    first += half & -std::size_t{first[half - 1] <= address};
    count -= half;
  }
  return static_cast<std::size_t>(first - ends_.data());
}

// From that one of by_end_ on.
std::size_t CodeIndex::first_beginning_at(std::uint64_t address, std::size_t from) const {
  while (from < by_end_.size() && by_end_[from]->base < address) ++from;
  return from;
}

// Where the numbers are used up, all objects get new ones.
void CodeIndex::number_rows(CodeState& code) {
  const auto number = [this](CodeState& each) {
    each.first_row = next_row_;
    next_row_ += static_cast<std::uint32_t>(each.rows.size()) + 1;  // and one for what lies before the first
  };
  if (code.rows.size() >= row_numbers_ - next_row_) {
    next_row_ = 1;
    ++row_numbering_;
    for (auto& [id, each] : live_) number(*each);
    for (auto& each : retired_) number(*each.code);
  }
  number(code);
}

// How many of those that are over had ended by then; the others follow.
std::size_t CodeIndex::ended_after(TimeNs time) const {
  return static_cast<std::size_t>(std::ranges::upper_bound(retired_, time, {}, &Retired::unloaded) -
                                  retired_.begin());
}

// Of those from `first` to before `last` of by_end_ the ones that are to end; the rest closes up once.
template <typename Ends>
void CodeIndex::end_live(std::size_t first, std::size_t last, TimeNs time, const Ends& ends) {
  const std::size_t before = retired_.size();
  std::size_t stays = first;
  for (std::size_t i = first; i < last; ++i) {
    if (ends(*by_end_[i])) {
      retire(std::move(live_.extract(by_end_[i]->id).mapped()), time);
      continue;
    }
    ends_[stays] = ends_[i];
    by_end_[stays++] = by_end_[i];
  }
  const auto from = static_cast<std::ptrdiff_t>(stays), to = static_cast<std::ptrdiff_t>(last);
  ends_.erase(ends_.begin() + from, ends_.begin() + to);
  by_end_.erase(by_end_.begin() + from, by_end_.begin() + to);
  settle(before);
}

// It has its place after settle().
void CodeIndex::retire(std::unique_ptr<CodeState> code, TimeNs time) {
  for (const CodeState*& each : found_) each = each == code.get() ? nullptr : each;
  const CodeState& of = *code;
  const TimeNs end = std::max(time, of.loaded);
  retired_.push_back({end, of.loaded, of.base, of.end, of.id, std::move(code)});
}

// Keeps those from `before` on in the order of their ends with the others, so that find() can stop at the
// first that is too old.
void CodeIndex::settle(std::size_t before) {
  const auto added = retired_.begin() + static_cast<std::ptrdiff_t>(before);
  std::ranges::stable_sort(added, retired_.end(), {}, &Retired::unloaded);
  if (added != retired_.end()) {
    const auto place =
        std::ranges::upper_bound(retired_.begin(), added, added->unloaded, {}, &Retired::unloaded);
    std::ranges::inplace_merge(place, added, retired_.end(), {}, &Retired::unloaded);
  }
  for (; retired_.size() > limits_.retired_code; ++forgotten_early_) forget_oldest();
}

void CodeIndex::forget_oldest() {
  bytes_ -= retired_.front().code->bytes();
  retired_.pop_front();
}

}  // namespace tailor::process
