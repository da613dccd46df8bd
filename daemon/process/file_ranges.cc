#include "daemon/process/file_ranges.h"

#include <algorithm>
#include <iterator>

namespace tailor::process {
namespace {

std::uint64_t end_of(const FileRanges::File& file) {
  return file.size > UINT64_MAX - file.begin ? UINT64_MAX : file.begin + file.size;
}

}  // namespace

FileRanges::Held::~Held() {
  count(0);
}

void FileRanges::Held::count(std::size_t now) {
  if (budget != nullptr) budget->held += now - bytes;
  bytes = now;
}

// About.
std::size_t FileRanges::bytes_of(const Range& range) {
  constexpr std::size_t kNode = 48;
  return kNode + sizeof(Ranges::value_type) + range.path.size() + range.build_id.size();
}

// The first range that ends behind `begin`.
FileRanges::Ranges::const_iterator FileRanges::first_behind(std::uint64_t begin) const {
  const auto after = held_->ranges.upper_bound(begin);
  const bool reaches = after != held_->ranges.begin() && std::prev(after)->second.end > begin;
  return reaches ? std::prev(after) : after;
}

bool FileRanges::has(const File& file) const {
  const auto found = first_behind(file.begin);
  if (found == held_->ranges.end() || found->first > file.begin) return false;
  const Range& range = found->second;
  return file.begin + file.size <= range.end && range.bias == file.begin - file.file_offset &&
         range.path == file.path && range.build_id == file.build_id;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> FileRanges::others(const File& file) const {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> parts;
  const std::uint64_t bias = file.begin - file.file_offset, end = end_of(file);
  const auto is_same = [&](const Range& range) {
    const bool ids = range.build_id == file.build_id || range.build_id.empty() || file.build_id.empty();
    return range.bias == bias && range.path == file.path && ids;
  };
  std::uint64_t begin = file.begin;
  for (auto at = first_behind(begin); at != held_->ranges.end() && at->first < end; ++at) {
    if (!is_same(at->second)) continue;
    if (at->first > begin) parts.emplace_back(begin, at->first);
    begin = std::min(at->second.end, end);
  }
  if (begin < end) parts.emplace_back(begin, end);
  return parts;
}

bool FileRanges::touches(std::uint64_t begin, std::uint64_t size) const {
  if (size == 0 || begin > UINT64_MAX - size) return false;
  const auto found = first_behind(begin);
  return found != held_->ranges.end() && found->first < begin + size;
}

std::optional<FileRanges::At> FileRanges::at(std::uint64_t address) const {
  const auto found = first_behind(address);
  if (found == held_->ranges.end() || found->first > address) return std::nullopt;
  const Range& range = found->second;
  return At{range.path, range.build_id, address - range.bias};
}

// False where there is no room for a copy.
bool FileRanges::own() {
  if (held_.use_count() == 1) return true;
  if (!held_->has_room(held_->bytes)) return false;
  auto copy = std::make_shared<Held>(held_->budget);
  copy->ranges = held_->ranges;
  copy->count(held_->bytes);
  held_ = std::move(copy);
  return true;
}

void FileRanges::clear() {
  held_ = std::make_shared<Held>(held_->budget);
  overflowed_ = false;
}

void FileRanges::overflow() {
  clear();
  overflowed_ = true;
}

void FileRanges::add(std::uint64_t begin, Range range) {
  const std::size_t bytes = bytes_of(range);
  if (overflowed_) return;
  if (held_->ranges.size() >= most_ || !held_->has_room(bytes)) return overflow();
  held_->ranges.emplace(begin, std::move(range));
  held_->count(held_->bytes + bytes);
}

// Takes out what lies there. What is left behind the end comes last: there may be no room for it.
void FileRanges::cut(std::uint64_t begin, std::uint64_t end) {
  if (!own()) return overflow();
  Ranges& ranges = held_->ranges;
  auto at = ranges.upper_bound(begin);
  if (at != ranges.begin() && std::prev(at)->second.end > begin) --at;
  Range behind{0, 0, {}, {}};
  while (at != ranges.end() && at->first < end) {
    if (at->second.end > end) behind = at->second;
    if (at->first < begin) {
      at->second.end = begin;
      ++at;
    } else {
      held_->count(held_->bytes - bytes_of(at->second));
      at = ranges.erase(at);
    }
  }
  if (behind.end > end) add(end, std::move(behind));
}

bool FileRanges::map(const File& file) {
  if (overflowed_ || file.size == 0 || file.begin > UINT64_MAX - file.size || has(file)) return false;
  const std::uint64_t end = file.begin + file.size;
  cut(file.begin, end);
  add(file.begin, {end, file.begin - file.file_offset, std::string(file.path), std::string(file.build_id)});
  return true;
}

bool FileRanges::unmap(std::uint64_t begin, std::uint64_t size) {
  if (overflowed_ || !touches(begin, size)) return false;
  cut(begin, begin + size);
  return true;
}

// One walk over both, because a process may have mapped much.
std::vector<std::pair<std::uint64_t, std::uint64_t>> FileRanges::keep_only(std::vector<File> seen) {
  std::ranges::sort(seen, {}, &File::begin);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> gone;
  std::uint64_t covered = 0;  // nothing below it is gone, but for what is in `gone`
  auto next = seen.begin();
  for (const auto& [begin, range] : held_->ranges) {
    covered = std::max(covered, begin);
    while (covered < range.end) {
      while (next != seen.end() && end_of(*next) <= covered) ++next;
      const std::uint64_t kept = next == seen.end() ? range.end : std::min(next->begin, range.end);
      if (kept > covered) gone.emplace_back(covered, kept - covered);
      if (kept == range.end) break;
      covered = end_of(*next);
    }
  }
  for (const auto& [begin, size] : gone) unmap(begin, size);
  return gone;
}

}  // namespace tailor::process
