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
  const std::size_t at = first_ending_after(code.base);
  std::size_t over = at;
  while (over < by_end_.size() && by_end_[over]->base < code.end) ++over;
  replaced_ += over - at;
  retire(at, over, code.loaded);
  bytes_ += code.bytes();
  lowest_ = highest_ == 0 ? code.base : std::min(lowest_, code.base);
  highest_ = std::max(highest_, code.end);
  auto kept = std::make_unique<CodeState>(std::move(code));
  number_rows(*kept);
  ends_.insert(ends_.begin() + static_cast<std::ptrdiff_t>(at), kept->end);
  by_end_.insert(by_end_.begin() + static_cast<std::ptrdiff_t>(at), kept.get());
  live_.emplace(kept->id, std::move(kept));
  return Ok{};
}

bool CodeIndex::remove(CodeId id, TimeNs time) {
  const auto found = live_.find(id);
  if (found == live_.end()) return false;
  const std::size_t at = first_ending_after(found->second->base);
  retire(at, at + 1, time);
  return true;
}

std::vector<CodeId> CodeIndex::remove_unseen(std::uint64_t seen, TimeNs time) {
  std::vector<CodeId> gone;
  for (const auto& [id, code] : live_) {
    if (code->seen != seen) gone.push_back(id);
  }
  // Those that stay close up once.
  std::size_t stays = 0;
  for (std::size_t i = 0; i < by_end_.size(); ++i) {
    if (by_end_[i]->seen != seen) {
      retire(by_end_[i]->id, time);
      continue;
    }
    ends_[stays] = ends_[i];
    by_end_[stays++] = by_end_[i];
  }
  ends_.resize(stays);
  by_end_.resize(stays);
  forget_what_is_too_much();
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
  const CodeState* best = nullptr;
  for (auto code = retired_.rbegin(); code != retired_.rend() && (*code)->unloaded > time; ++code) {
    if (!(*code)->contains(address) || (*code)->loaded > time) continue;
    if (best == nullptr || best->loaded < (*code)->loaded) best = code->get();
  }
  return best;
}

CodeState* CodeIndex::live(CodeId id) {
  const auto found = live_.find(id);
  return found == live_.end() ? nullptr : found->second.get();
}

void CodeIndex::trim(TimeNs watermark) {
  while (!retired_.empty() && retired_.front()->unloaded <= watermark) forget_oldest();
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
    for (auto& each : retired_) number(*each);
  }
  number(code);
}

// Those from `first` to before `last` of by_end_.
void CodeIndex::retire(std::size_t first, std::size_t last, TimeNs time) {
  for (std::size_t i = first; i < last; ++i) retire(by_end_[i]->id, time);
  const auto from = static_cast<std::ptrdiff_t>(first), to = static_cast<std::ptrdiff_t>(last);
  ends_.erase(ends_.begin() + from, ends_.begin() + to);
  by_end_.erase(by_end_.begin() + from, by_end_.begin() + to);
  forget_what_is_too_much();
}

// Keeps the ends of retired objects in order, so that find() can stop at the first that is too old; agents'
// threads may send them microseconds out of order.
void CodeIndex::retire(CodeId id, TimeNs time) {
  auto node = live_.extract(id);
  std::unique_ptr<CodeState> code = std::move(node.mapped());
  for (const CodeState*& each : found_) each = each == code.get() ? nullptr : each;
  code->unloaded = std::max(time, code->loaded);
  if (!retired_.empty()) code->unloaded = std::max(code->unloaded, retired_.back()->unloaded);
  retired_.push_back(std::move(code));
}

void CodeIndex::forget_what_is_too_much() {
  for (; retired_.size() > limits_.retired_code; ++forgotten_early_) forget_oldest();
}

void CodeIndex::forget_oldest() {
  bytes_ -= retired_.front()->bytes();
  retired_.pop_front();
}

}  // namespace tailor::process
