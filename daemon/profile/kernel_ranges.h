// Code that the kernel has loaded, such as BPF programs, as it lies now: ranges that do not overlap.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace tailor::profile {

class KernelRanges {
 public:
  struct Range {
    std::uint64_t end = 0;
    std::string path;  // as in MappingRecord
  };

  // Something else comes to [begin, end), or nothing. What begins there is gone as a whole. What begins
  // before ends where this begins, so its end was not known well. Gives what no longer lies where it did:
  // begin, end.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> cut(std::uint64_t begin, std::uint64_t end);
  // Behind cut() of the same range.
  void put(std::uint64_t begin, Range range) { ranges_.insert_or_assign(begin, std::move(range)); }

  bool has(std::uint64_t begin, const Range& range) const;
  void clear() { ranges_.clear(); }
  const std::map<std::uint64_t, Range>& all() const { return ranges_; }  // by begin

 private:
  std::map<std::uint64_t, Range> ranges_;
};

}  // namespace tailor::profile
