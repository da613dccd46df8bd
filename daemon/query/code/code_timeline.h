// Whose code was at an address of one process, at a time: a file's, a code object's, or nobody's that is
// known.
//
// It is fed by mapping records, by looks at /proc, and by what agents load and unload, in any order of their
// times. Code objects lie in mappings. What begins later ends what it overlaps:
//
// - A file, or nothing, ends the mapping, and the code objects that were loaded before. Where the
//   same bytes of the same file were there already, only their protection has changed.
// - Anonymous memory, and files made for code, end a file's mapping, but no code object. The kernel merges
//   anonymous neighbours and reports the whole range again, and a change of protection reports single pages.
//   Such memory does not end the program's own text: nobody unloads it, and some programs move it to huge
//   pages at its own addresses.
// - A code object ends the one that was there.
//
// What is told late counts from its own time, so it never ends what is newer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "daemon/profile/mapped_kind.h"
#include "proto/base/ids.h"

namespace tailor::query {

// What memory with code was mapped from.
struct MappedCode {
  using Kind = profile::MappedKind;
  Kind kind = Kind::kUnknown;
  bool of_program = false;  // the file is the program itself; says nothing of what is there
  std::uint32_t file = 0;   // of kMemory and kFile
  std::uint64_t bias = 0;   // an address less this is the offset in the file
  friend bool operator==(const MappedCode& a, const MappedCode& b) {
    return a.kind == b.kind && a.file == b.file && a.bias == b.bias;
  }
};

// One thread. Addresses are whole ranges, [begin, end).
class CodeTimeline {
 public:
  // `budget`: the entries that all timelines together may still keep. Of ranges for which there is no
  // room nothing is known from then on.
  explicit CodeTimeline(std::size_t& budget) : budget_(&budget) {}

  void map(std::uint64_t begin, std::uint64_t end, TimeNs from, const MappedCode& what);
  void load(std::uint64_t begin, std::uint64_t end, TimeNs from, CodeId code);
  // Ends the last load of `code` that was not after `time`.
  void unload(CodeId code, TimeNs time);

  // What one moment looks like.
  struct State {
    MappedCode mapped;
    TimeNs mapped_from = kTimeMin;
    TimeNs changed = kTimeMin;  // when another file, or nothing, took the place of what was there
    CodeId code = 0;            // 0: no code object
    TimeNs loaded = kTimeMin;
    std::uint32_t generation = 0;              // of whom the code object is: 0 the process, 1 its parent, ...
    TimeNs from = kTimeMin, until = kTimeMax;  // it holds at least within [from, until)
  };
  // `inherited`: what the process had when it was forked, if it was.
  State find(std::uint64_t address, TimeNs time, const std::optional<State>& inherited = {}) const;

  // Whether a code object was at `address` at any time.
  bool had_code(std::uint64_t address) const;
  // All that was mapped at `address`, by time; nothing where a range was given up.
  std::vector<MappedCode> mapped_at(std::uint64_t address) const;

 private:
  struct Mapped {
    TimeNs from;
    MappedCode what;
    MappedCode shown;  // `what`, or what it does not end
    TimeNs changed;    // as in State
  };
  struct Loaded {
    TimeNs from, to;
    CodeId code;
  };
  // Addresses of one history.
  struct Span {
    std::uint64_t end = 0;
    std::vector<Mapped> mapped;  // by time
    std::vector<Loaded> loaded;
    TimeNs given_up = kTimeMax;  // from here on nothing is known
  };
  using Spans = std::map<std::uint64_t, Span>;  // by begin, disjoint

  static bool follow(const Mapped* before, Mapped& now);
  struct Followed {
    Mapped now;
    bool changed = false;  // something ended what was inherited
  };
  static std::optional<Followed> follow_inherited(const std::vector<Mapped>& mapped, const Mapped& last,
                                                  const MappedCode& inherited);
  void split(std::uint64_t at);
  template <typename Add>
  void add(std::uint64_t begin, std::uint64_t end, TimeNs from, Add add);
  bool has_room(std::size_t entries) const { return *budget_ >= entries; }
  void count(std::size_t entries);
  template <typename Entries, typename Entry>
  typename Entries::iterator insert(Entries& entries, Entry entry);

  std::size_t* budget_;
  Spans spans_;
  TimeNs given_up_ = kTimeMax;  // from here on nothing is known of any range
  struct Load {
    std::uint64_t begin = 0, end = 0;
    TimeNs to = kTimeMax;
  };
  std::map<std::pair<CodeId, TimeNs>, Load> loads_;
};

}  // namespace tailor::query
