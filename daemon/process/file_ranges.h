// Which files' code a process has mapped now. It decides what of the kernel's mapping records a profile
// needs: runtimes change the protection of their code thousands of times a second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tailor::process {

// How many bytes the ranges of all that share it hold. Bytes, not ranges: a path may have 4096 of them.
struct FileBudget {
  std::size_t most = std::size_t{256} << 20;
  std::size_t held = 0;
};

// One thread. A copy, which a forked process has, shares the memory of the other until one of both changes.
class FileRanges {
 public:
  struct File {
    std::uint64_t begin = 0, size = 0;
    std::uint64_t file_offset = 0;  // of `begin`
    std::string_view path, build_id;
  };

  // Never more than `most` ranges, nor more than `budget` has, which must outlive it; NULL: no bound.
  explicit FileRanges(std::size_t most = SIZE_MAX, FileBudget* budget = nullptr)
      : most_(most), held_(std::make_shared<Held>(budget)) {}

  // The file takes the place of what was there. False, and nothing changes, if the same bytes of the same
  // file are there already: only their protection has changed.
  bool map(const File& file);
  // Memory of no file takes the place of what was there. True if that was a file's, in part at least.
  bool unmap(std::uint64_t begin, std::uint64_t size);
  // Ends what `seen`, which is all that is mapped now, does not have. Gives the ranges that ended: begin,
  // size.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> keep_only(std::vector<File> seen);
  // There was no room for a change: all was forgotten, rather than taken for what it no longer is. Nothing
  // changes any more before clear().
  bool overflowed() const { return overflowed_; }
  void clear();
  std::size_t size() const { return held_->ranges.size(); }
  // How many ranges are freed with this one: none that a copy shares.
  std::size_t own_size() const { return held_.use_count() == 1 ? held_->ranges.size() : 0; }

  // What lies at an address; its texts hold until something changes here.
  struct At {
    std::string_view path, build_id;
    std::uint64_t offset = 0;  // in the file
  };
  std::optional<At> at(std::uint64_t address) const;
  // The parts of the file's range, as begin and end, where something else lies: no file, another one, or
  // other bytes of it. A file without a build id is taken for the one of its path.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> others(const File& file) const;
  // Whether the same bytes of the same file are there.
  bool has(const File& file) const;
  // Whether a file lies in a range, in part at least.
  bool touches(std::uint64_t begin, std::uint64_t size) const;

 private:
  struct Range {
    std::uint64_t end, bias;  // an address less `bias` is the offset in the file
    std::string path, build_id;
  };
  using Ranges = std::map<std::uint64_t, Range>;  // by begin, disjoint
  struct Held {
    explicit Held(FileBudget* from) : budget(from) {}
    ~Held();
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    bool has_room(std::size_t more) const { return budget == nullptr || budget->held + more <= budget->most; }
    void count(std::size_t now);
    Ranges ranges;
    FileBudget* budget;
    std::size_t bytes = 0;
  };
  static std::size_t bytes_of(const Range& range);
  Ranges::const_iterator first_behind(std::uint64_t begin) const;
  bool own();
  void add(std::uint64_t begin, Range range);
  void cut(std::uint64_t begin, std::uint64_t end);
  void overflow();

  std::size_t most_;
  std::shared_ptr<Held> held_;
  bool overflowed_ = false;
};

}  // namespace tailor::process
