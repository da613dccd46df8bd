#include "daemon/process/generated_memory.h"

#include <algorithm>
#include <iterator>

namespace tailor::process {

bool AddressSet::covers(std::uint64_t begin, std::uint64_t end) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](std::uint64_t at, const Range& range) { return at < range.first; });
  return after != ranges_.begin() && end <= std::prev(after)->second;
}

// All that the new range touches becomes a part of it.
void AddressSet::add(std::uint64_t begin, std::uint64_t end) {
  const auto first = std::lower_bound(ranges_.begin(), ranges_.end(), begin,
                                      [](const Range& range, std::uint64_t at) { return range.second < at; });
  const auto last = std::upper_bound(first, ranges_.end(), end,
                                     [](std::uint64_t at, const Range& range) { return at < range.first; });
  if (first == last) {
    ranges_.insert(first, {begin, end});
    return;
  }
  *first = {std::min(begin, first->first), std::max(end, std::prev(last)->second)};
  ranges_.erase(std::next(first), last);
}

void GeneratedMemory::Held::count(std::size_t now) {
  if (budget != nullptr) budget->held += now - counted;
  counted = now;
}

std::size_t GeneratedMemory::Held::bytes() const {
  return (anonymous.size() + files.size()) * 2 * sizeof(std::uint64_t);
}

// False where there is no room for a copy.
bool GeneratedMemory::own() {
  if (held_.use_count() == 1) return true;
  FileBudget* budget = held_->budget;
  const std::size_t bytes = held_->bytes();
  if (budget != nullptr && budget->held + bytes > budget->most) return false;
  auto copy = std::make_shared<Held>(budget);
  copy->anonymous = held_->anonymous;
  copy->files = held_->files;
  copy->count(bytes);
  held_ = std::move(copy);
  return true;
}

void GeneratedMemory::clear() {
  held_ = std::make_shared<Held>(held_->budget);
  overflowed_ = false;
}

void GeneratedMemory::overflow() {
  clear();
  overflowed_ = true;
}

void GeneratedMemory::change(AddressSet Held::* set, std::uint64_t begin, std::uint64_t size) {
  if (overflowed_ || size == 0 || begin > UINT64_MAX - size) return;
  if (((*held_).*set).covers(begin, begin + size)) return;
  if (!own()) return overflow();
  AddressSet& ranges = (*held_).*set;
  ranges.add(begin, begin + size);
  held_->count(held_->bytes());
  const bool beyond_budget = held_->budget != nullptr && held_->budget->held > held_->budget->most;
  if (ranges.size() > most_ || beyond_budget) overflow();
}

}  // namespace tailor::process
