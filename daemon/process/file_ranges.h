// Which files' code a process has mapped now. It decides what of the kernel's mapping records a profile
// needs: runtimes change the protection of their code thousands of times a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tailor::process {

// One thread. Its size is the caller's to bound: each call adds two ranges at most.
class FileRanges {
 public:
  struct File {
    std::uint64_t begin = 0, size = 0;
    std::uint64_t file_offset = 0;  // of `begin`
    std::string_view path, build_id;
  };

  // The file takes the place of what was there. False, and nothing changes, if the same bytes of the same
  // file are there already: only their protection has changed.
  bool map(const File& file);
  // Memory of no file takes the place of what was there. True if that was a file's, in part at least.
  bool unmap(std::uint64_t begin, std::uint64_t size);
  // Ends what `seen`, which is all that is mapped now, does not have. Gives the ranges that ended: begin,
  // size.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keep_only(const std::vector<File>& seen);
  void clear() { ranges_.clear(); }
  std::size_t size() const { return ranges_.size(); }

 private:
  struct Range {
    std::uint64_t end, bias;  // an address less `bias` is the offset in the file
    std::string path, build_id;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by begin, disjoint
  bool has(const File& file) const;

  Ranges ranges_;
};

}  // namespace tailor::process
