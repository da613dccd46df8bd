// Which files a process has mapped executable, by address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/unwind/elf_cfi.h"
#include "daemon/unwind/file_arguments.h"

namespace tailor::unwind {

// An executable mapping of a file.
struct Mapping {
  std::uint64_t begin = 0, end = 0, file_offset = 0;
  std::string path, file;               // `file`: the same for all who map it, see file_of() and file_with()
  std::shared_ptr<const ElfCfi> table;  // once it was asked for; NULL: there is none
  bool asked = false;
  int tries = 0;                             // to find the file
  std::shared_ptr<FileArguments> arguments;  // as `table`
  bool asked_for_arguments = false;
};

// One thread. A child shares its parent's until one of both changes: processes fork often, and one that
// wants to do harm maps much before.
class MappedFiles {
 public:
  static constexpr std::size_t kMostOfAProcess = 4096;
  // Of all processes together; some 250 bytes each.
  struct Budget {
    std::size_t left = std::size_t{1} << 18;
  };
  explicit MappedFiles(Budget& budget) : budget_(&budget) {}

  // NULL: no file is known there. Valid until something changes.
  Mapping* at(std::uint64_t address);
  // Takes the place of what was there. Without room nothing is known of its addresses.
  void map(Mapping mapping);
  // Whether anything was there.
  bool take_out(std::uint64_t begin, std::uint64_t end);
  // All of them, sorted and disjoint; those without room are left out.
  void replace(std::vector<Mapping> all);
  void clear() { held_.reset(); }
  void share(const MappedFiles& of) { held_ = of.held_; }

 private:
  using All = std::map<std::uint64_t, Mapping>;  // by begin
  struct Held {
    explicit Held(Budget& from) : budget(from) {}
    ~Held() { budget.left += all.size(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;
    Budget& budget;
    All all;
  };
  All& own();
  void insert(All& all, Mapping mapping);

  Budget* budget_;
  std::shared_ptr<Held> held_;  // NULL: none
};

}  // namespace tailor::unwind
