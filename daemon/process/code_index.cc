#include "daemon/process/code_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace tailor::process {

Status CodeIndex::add(CodeState code) {
  if (live_.contains(code.id)) return invalid(fmt::format("code object {}: loaded twice", code.id));
  earn();
  const Overlap there = look_at(code.base, code.end, code.loaded);
  const std::size_t ended = retired_.size() - ended_after(code.loaded);
  const bool compared = there.all && spend(ended);
  const TimeNs end = compared ? std::min(there.newer, newer_retired(code)) : kTimeMax;
  // One that is refused has taken the place of what was there, too.
  end_older(there.older, {code.base, code.end, code.loaded, code.loaded}, compared);
  if (!compared) {
    return exhausted(fmt::format(
        "code object {}: told late, when its process had {} newer ones, and others were told late before",
        code.id, ended));
  }
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
  earn();
  const Ending by{begin, end, loaded_before - 1, std::max(loaded_before, time)};
  const Overlap there = look_at(begin, end, by.loaded_by);
  const bool compared = there.all && spend(retired_.size() - ended_after(by.time));
  if (!compared) ++forgotten_early_;
  end_older(there.older, by, compared);
}

bool CodeIndex::says_again(CodeId id, TimeNs loaded, std::uint64_t seen) {
  constexpr TimeNs kSame = 1'000'000;  // the clock of a connection is not exact
  const auto awaited = awaited_.find(id);
  if (awaited == awaited_.end() || awaited->second.seen == seen) return false;
  const TimeNs first = awaited->second.loaded;
  if (std::max(first, loaded) - std::min(first, loaded) > kSame) return false;
  awaited->second.seen = seen;
  return true;
}

// Those that are older will end, once each. Looks at newer ones are spent, because they may be looked at
// again.
CodeIndex::Overlap CodeIndex::look_at(std::uint64_t begin, std::uint64_t end, TimeNs loaded_by) {
  Overlap there;
  by_address_.overlapping(begin, end, [&](const CodeState& each) {
    if (each.loaded <= loaded_by) {
      there.older.push_back(&each);
      return true;
    }
    there.newer = std::min(there.newer, each.loaded);
    return there.all = spend(1);
  });
  return there;
}

// When the first newer one that overlaps it, and is over, was loaded.
TimeNs CodeIndex::newer_retired(const CodeState& code) const {
  TimeNs newer = kTimeMax;
  for (std::size_t i = ended_after(code.loaded); i < retired_.size(); ++i) {
    const Retired& each = retired_[i];
    if (each.loaded > code.loaded && each.overlaps(code.base, code.end)) newer = std::min(newer, each.loaded);
  }
  return newer;
}

// Where not all could be compared, they end behind all others: that takes no looks.
void CodeIndex::end_older(const std::vector<const CodeState*>& older, const Ending& by, bool compared) {
  for (const CodeState* each : older) await(*each);
  if (compared) cut_retired(by);
  end_live(older, compared ? by.time : behind_all(by.time));
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
  by_address_.add(*code);
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
  earn();
  const bool affordable = spend(retired_.size() - ended_after(time));
  const bool of_live = live_since <= time && (awaited_since > time || awaited_since <= live_since);
  if (of_live) {
    end_live({live->second.get()}, affordable ? time : behind_all(time));
  } else if (awaited_since <= time) {
    if (affordable) shorten(id, awaited_since, time);
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
  std::vector<const CodeState*> codes;
  for (const auto& [id, code] : live_) {
    if (code->seen == seen) continue;
    gone.push_back(id);
    codes.push_back(code.get());
  }
  end_live(codes, time);
  std::erase_if(awaited_, [&](const auto& each) { return each.second.seen != seen; });
  return gone;
}

const CodeState* CodeIndex::search(std::uint64_t address, TimeNs time) const {
  const CodeState* code = by_address_.first_ending_after(address);
  if (code != nullptr && code->base <= address && code->loaded <= time) {
    std::atomic_ref(found_[found_at(address)]).store(code, std::memory_order_relaxed);
    return code;
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

void CodeIndex::earn() {
  looks_ = std::min(looks_ + kEarnedLooks, kMostLooks);
}

bool CodeIndex::spend(std::size_t looks) {
  const bool enough = looks <= looks_;
  looks_ = enough ? looks_ - looks : 0;
  return enough;
}

TimeNs CodeIndex::behind_all(TimeNs time) const {
  return retired_.empty() ? time : std::max(time, retired_.back().unloaded);
}

void CodeIndex::end_live(const std::vector<const CodeState*>& codes, TimeNs time) {
  const std::size_t before = retired_.size();
  for (const CodeState* each : codes) {
    by_address_.remove(*each);
    forget_guesses(*each);
    retire(std::move(live_.extract(each->id).mapped()), time);
  }
  settle(before);
}

// A guess lies where one of its pages has its place.
void CodeIndex::forget_guesses(const CodeState& code) {
  const std::uint64_t first = code.base >> 12, last = (code.end - 1) >> 12;
  if (last - first >= kFound) {
    for (const CodeState*& each : found_) each = each == &code ? nullptr : each;
    return;
  }
  for (std::uint64_t page = first; page <= last; ++page) {
    const CodeState*& guess = found_[found_at(page << 12)];
    if (guess == &code) guess = nullptr;
  }
}

// It has its place after settle().
void CodeIndex::retire(std::unique_ptr<CodeState> code, TimeNs time) {
  const CodeState& of = *code;
  const TimeNs end = std::max(time, of.loaded);
  retired_.push_back({end, of.loaded, of.base, of.end, of.id, std::move(code)});
}

// Keeps those from `before` on in the order of their ends with the others, so that find() can stop at the
// first that is too old.
void CodeIndex::settle(std::size_t before) {
  const auto added = retired_.begin() + static_cast<std::ptrdiff_t>(before);
  if (!std::ranges::is_sorted(added, retired_.end(), {}, &Retired::unloaded))
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
