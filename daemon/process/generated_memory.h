// Where a process has made code by itself: executable memory of no file. Nothing but a code object says whose
// such code is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/process/file_ranges.h"

namespace tailor::process {

// Addresses, as disjoint ranges. One thread.
class AddressSet {
 public:
  void add(std::uint64_t begin, std::uint64_t end);
  bool holds(std::uint64_t address) const {
    // Libraries mostly lie beside all generated code.
    if (ranges_.empty() || address < ranges_.front().first || address >= ranges_.back().second) return false;
    return covers(address, address + 1);
  }
  bool covers(std::uint64_t begin, std::uint64_t end) const;
  std::size_t size() const { return ranges_.size(); }

 private:
  using Range = std::pair<std::uint64_t, std::uint64_t>;  // begin, end

  std::vector<Range> ranges_;  // by address; no two of them touch
};

// It knows what it was told of and never takes anything back. Unmapping is not heard of, and a program may
// move its own text to memory of no file. So what ever was a file's code is not taken for generated code.
//
// One thread; questions from any while nothing changes. A copy, which a forked process has, shares the memory
// of the other until one of both changes.
class GeneratedMemory {
 public:
  static constexpr std::size_t kMostRanges = 16384;

  // Never more than `most` ranges of either kind, nor more than `budget` has, which must outlive it; NULL: no
  // bound. Beyond that nothing is known before clear().
  explicit GeneratedMemory(std::size_t most = kMostRanges, FileBudget* budget = nullptr)
      : most_(most), held_(std::make_shared<Held>(budget)) {}

  // Executable memory of no file is there.
  void add(std::uint64_t begin, std::uint64_t size) { change(&Held::anonymous, begin, size); }
  // Code of a file is there.
  void add_file(std::uint64_t begin, std::uint64_t size) { change(&Held::files, begin, size); }
  // Another program is executed.
  void clear();

  // No allocation.
  bool holds(std::uint64_t address) const {
    return held_->anonymous.holds(address) && !held_->files.holds(address);
  }

 private:
  struct Held {
    explicit Held(FileBudget* from) : budget(from) {}
    ~Held() { count(0); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    void count(std::size_t now);
    std::size_t bytes() const;
    AddressSet anonymous, files;
    FileBudget* budget;
    std::size_t counted = 0;
  };
  void change(AddressSet Held::* set, std::uint64_t begin, std::uint64_t size);
  bool own();
  void overflow();

  std::size_t most_;
  std::shared_ptr<Held> held_;
  bool overflowed_ = false;
};

}  // namespace tailor::process
