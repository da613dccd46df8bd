// Call frame information (.eh_frame, .debug_frame) of one file or code object: from a frame to its caller's.
//
// Bytes are hostile: they come from files of others and from engines. An entry that makes no sense is left
// out and counted; a step it cannot make is refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "daemon/unwind/cfi_cursor.h"
#include "daemon/unwind/cfi_rules.h"
#include "daemon/unwind/cfi_work.h"
#include "daemon/unwind/frame.h"

namespace tailor::unwind {

class CfiTable {
 public:
  // Indexes `bytes`, the content of .eh_frame at `address`; keeps a copy. An empty table is a valid one.
  static CfiTable parse(std::span<const std::byte> bytes, std::uint64_t address);
  CfiTable() = default;
  CfiTable(CfiTable&&) noexcept = default;
  CfiTable& operator=(CfiTable&&) noexcept = default;

  // Makes `frame` its caller's. `frame`'s code is this table's at its instruction pointer less `bias`;
  // `exact`: the pointer is at the instruction itself (innermost, or interrupted by a signal), not behind a
  // call. False, and `frame` is as it was: there is no entry, or the stack was not sampled that far, or it
  // makes no sense. `signal` becomes whether the caller was interrupted rather than called. `work` is told
  // what it cost and why it was refused, and remembers rules.
  bool step(Frame& frame, std::uint64_t bias, bool exact, const StackView& stack, bool& signal,
            CfiWork& work) const;

  // The rules that hold at `address`, in the table's own addresses; NULL as step(). Valid while the table is.
  std::optional<CfiRules> rules_at(std::uint64_t address) const;

  struct Range {
    std::uint64_t begin, end;
  };
  // The one of these that `address` lies in.
  std::optional<Range> range_at(std::uint64_t address) const;
  // What the entries cover, by begin.
  std::vector<Range> ranges() const;
  // Indexes the content of a .debug_frame as well, for code that has no entry yet, and keeps a copy. Entries
  // that begin in none of `code` are left out: linkers leave those of functions that they removed.
  void add_debug_frame(std::span<const std::byte> bytes, std::span<const Range> code);
  std::size_t entries() const { return entries_.size(); }
  // Of memory.
  std::size_t bytes() const {
    return bytes_.capacity() + common_.capacity() * sizeof(Common) + entries_.capacity() * sizeof(Entry);
  }
  std::size_t refused() const { return refused_; }  // entries that were left out

 private:
  struct Entry {
    std::uint64_t begin, end;
    std::uint32_t offset;  // of its instructions
    std::uint32_t size;    // of these
    std::uint32_t common;  // into common_
  };
  struct Common {
    std::uint64_t code_alignment = 1;
    std::int64_t data_alignment = 1;
    std::uint8_t pointer_encoding = 0;
    bool signal = false, sized = false;
    std::uint32_t offset = 0, size = 0;  // of the initial instructions
  };

  // What differs between the sections.
  enum class Section : std::uint8_t { kEhFrame, kDebugFrame };
  struct Record {
    std::size_t start, id_at, id_size;  // in bytes_; id_size in bytes
    std::uint64_t id;
    std::span<const std::byte> body;  // behind the id
  };
  bool next_record(CfiCursor& cursor, std::size_t from, Section section, Record& out) const;
  bool parse_common(const Record& record, Section section, Common& out) const;
  bool parse_entry(const Record& record, std::uint32_t common);
  void parse_from(std::size_t from, Section section);
  static bool is_known(std::span<const Entry> known, const Entry& entry);
  const Entry* find(std::uint64_t address) const;
  bool run(const Entry& entry, std::uint64_t address, CfiRules& out, std::size_t& work) const;

  std::vector<std::byte> bytes_;
  std::uint64_t address_ = 0;
  std::uint64_t serial_ = 0;  // no other table of this process has it
  std::vector<Common> common_;
  std::vector<Entry> entries_;  // by begin
  std::size_t refused_ = 0;
};

}  // namespace tailor::unwind
