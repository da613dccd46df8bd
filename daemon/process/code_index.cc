#include "daemon/process/code_index.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace tailor::process {

Status CodeIndex::add(CodeState code) {
  if (live_.contains(code.id)) return invalid(fmt::format("code object {}: loaded twice", code.id));
  const Ending by{code.base, code.end, code.loaded, code.loaded};
  const Overlap there = look_at(by);
  // One that is refused has taken the place of what was there, too.
  end_older(there, by);
  if (!there.all) {
    return exhausted(fmt::format(
        "code object {}: told late, when its process had had very many newer ones there", code.id));
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
  insert(std::move(kept), there.newer);
  return Ok{};
}

void CodeIndex::end_code(std::uint64_t begin, std::uint64_t end, TimeNs loaded_before, TimeNs time) {
  const bool none_is_there = begin >= highest_ || end <= lowest_;
  if (none_is_there || loaded_before == kTimeMin) return;
  const Ending by{begin, end, loaded_before - 1, std::max(loaded_before, time)};
  const Overlap there = look_at(by);
  if (!there.all) ++forgotten_early_;
  end_older(there, by);
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

// Those that are older will end, once each. All others may be looked at again: these looks are spent.
CodeIndex::Overlap CodeIndex::look_at(const Ending& by) {
  Overlap there;
  const auto note_newer = [&](const CodeState& each) {
    if (each.loaded > by.loaded_by) there.newer = std::min(there.newer, each.loaded);
    return there.all = spend_look();
  };
  earn_looks();
  by_address_.overlapping(by.begin, by.end, [&](const CodeState& each) {
    if (each.loaded > by.loaded_by) return note_newer(each);
    there.older.push_back(&each);
    return true;
  });
  if (!there.all || retired_.last_end() <= by.time) return there;
  retired_.overlapping(by.begin, by.end, [&](const RetiredCode::Found& each) {
    if (each.code->loaded <= by.loaded_by && each.ended > by.time) there.ended_later.push_back(each);
    return note_newer(*each.code);
  });
  return there;
}

void CodeIndex::end_older(const Overlap& there, const Ending& by) {
  for (const CodeState* each : there.older) await(*each);
  for (const RetiredCode::Found& each : there.ended_later)
    retired_.move_end(each, std::max(by.time, each.code->loaded));
  end_live(there.older, by.time);
}

// Among the live ones, or among those that are over if it is late.
void CodeIndex::insert(std::unique_ptr<CodeState> code, TimeNs end) {
  if (end != kTimeMax) {
    await(*code);
    return retire(std::move(code), end);
  }
  by_address_.add(*code);
  live_.emplace(code->id, std::move(code));
}

// What is beyond the limit counts as unheard of: its unloading will be refused.
void CodeIndex::await(const CodeState& code) {
  ++replaced_;
  awaited_.insert_or_assign(code.id, Awaited{code.loaded, code.seen, code.base, code.end});
  if (awaited_.size() > limits_.retired_code) awaited_.erase(awaited_.begin());
}

bool CodeIndex::remove(CodeId id, TimeNs time) {
  const auto live = live_.find(id);
  const auto awaited = awaited_.find(id);
  const TimeNs live_since = live == live_.end() ? kTimeMax : live->second->loaded;
  const TimeNs awaited_since = awaited == awaited_.end() ? kTimeMax : awaited->second.loaded;
  const bool of_live = live_since <= time && (awaited_since > time || awaited_since <= live_since);
  if (of_live) {
    end_live({live->second.get()}, time);
  } else if (awaited_since <= time) {
    shorten(id, awaited->second, time);
    awaited_.erase(awaited);
  }
  return live_since != kTimeMax || awaited_since != kTimeMax;
}

// The end that a newer one gave it, if its own was earlier.
void CodeIndex::shorten(CodeId id, const Awaited& of, TimeNs time) {
  if (retired_.last_end() <= time) return;
  std::optional<RetiredCode::Found> found;
  earn_looks();
  retired_.overlapping(of.base, of.end, [&](const RetiredCode::Found& each) {
    if (each.code->id == id && each.code->loaded == of.loaded && each.ended > time) found = each;
    return !found && spend_look();
  });
  if (found) retired_.move_end(*found, time);
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
  return retired_.at(address, time);
}

CodeState* CodeIndex::live(CodeId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second.get();
}

void CodeIndex::trim(TimeNs watermark) {
  while (!retired_.empty() && retired_.first_end() <= watermark) forget_oldest();
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
    retired_.all(number);
  }
  number(code);
}

void CodeIndex::earn_looks() {
  looks_ = std::min(looks_ + kEarnedLooks, kMostLooks);
}

bool CodeIndex::spend_look() {
  if (looks_ == 0) return false;
  --looks_;
  return true;
}

void CodeIndex::end_live(const std::vector<const CodeState*>& codes, TimeNs time) {
  for (const CodeState* each : codes) {
    by_address_.remove(*each);
    forget_guesses(*each);
    retire(std::move(live_.extract(each->id).mapped()), time);
  }
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

void CodeIndex::retire(std::unique_ptr<CodeState> code, TimeNs time) {
  const TimeNs end = std::max(time, code->loaded);
  retired_.add(std::move(code), end);
  for (; retired_.size() > limits_.retired_code; ++forgotten_early_) forget_oldest();
}

void CodeIndex::forget_oldest() {
  bytes_ -= retired_.take_first()->bytes();
}

}  // namespace tailor::process
