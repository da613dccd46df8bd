#include "daemon/process/file_ranges.h"

#include <algorithm>
#include <iterator>

namespace tailor::process {

bool FileRanges::has(const File& file) const {
  const auto after = ranges_.upper_bound(file.begin);
  if (after == ranges_.begin()) return false;
  const Range& range = std::prev(after)->second;
  return file.begin + file.size <= range.end && range.bias == file.begin - file.file_offset &&
         range.path == file.path && range.build_id == file.build_id;
}

bool FileRanges::map(const File& file) {
  if (file.size == 0 || file.begin > UINT64_MAX - file.size || has(file)) return false;
  unmap(file.begin, file.size);
  ranges_.emplace(file.begin, Range{file.begin + file.size, file.begin - file.file_offset,
                                    std::string(file.path), std::string(file.build_id)});
  return true;
}

bool FileRanges::unmap(std::uint64_t begin, std::uint64_t size) {
  if (size == 0 || begin > UINT64_MAX - size) return false;
  const std::uint64_t end = begin + size;
  auto at = ranges_.upper_bound(begin);
  if (at != ranges_.begin() && std::prev(at)->second.end > begin) --at;
  bool was_there = false;
  while (at != ranges_.end() && at->first < end) {
    was_there = true;
    if (at->second.end > end) ranges_.emplace(end, at->second);
    if (at->first < begin) {
      at->second.end = begin;
      ++at;
    } else {
      at = ranges_.erase(at);
    }
  }
  return was_there;
}

std::vector<std::pair<std::uint64_t, std::uint64_t>> FileRanges::keep_only(const std::vector<File>& seen) {
  // What is left of it once everything seen was taken out.
  FileRanges gone = *this;
  for (const File& file : seen) gone.unmap(file.begin, file.size);
  std::vector<std::pair<std::uint64_t, std::uint64_t>> out;
  for (const auto& [begin, range] : gone.ranges_) {
    out.emplace_back(begin, range.end - begin);
    unmap(begin, range.end - begin);
  }
  return out;
}

}  // namespace tailor::process
