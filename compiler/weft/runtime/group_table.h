// Hash aggregation in two steps (Leis et al., "Morsel-driven parallelism", SIGMOD 2014, section 4.4): every
// thread groups what it sees in a small table of its own, whose rows lie partitioned by hash; then each
// partition is merged by one thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "compiler/weft/runtime/hash_row.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {

// One a thread. Generated code looks groups up by itself, at the offsets below, and calls weft_rt_group_add
// for a new one. When the table is full it forgets its groups: their rows stay, and are merged later.
class LocalGroups {
 public:
  LocalGroups(MemoryAccount& account, RegionKind rows_kind, RegionKind directory_kind,
              std::uint32_t row_bytes);
  ~LocalGroups();
  LocalGroups(const LocalGroups&) = delete;
  LocalGroups& operator=(const LocalGroups&) = delete;

  // A new zeroed row of that hash, linked into its slot. Throws QueryError.
  HashRow* add(std::uint64_t hash);

  TupleBuffer& partition(unsigned i) { return *partitions_[i]; }
  // False while every group of this thread has exactly one row.
  bool flushed() const { return flushed_; }
  bool empty() const { return !used_; }

  static constexpr unsigned kSlotBits = 15;
  static constexpr std::uint64_t kMaxGroups = (std::uint64_t{1} << kSlotBits) * 3 / 4;
  static constexpr std::size_t kDirectoryOffset = 0;

 private:
  HashRow** directory_;  // read by generated code
  std::uint64_t groups_ = 0;
  bool flushed_ = false;
  bool used_ = false;
  MemoryAccount* account_;
  std::array<std::unique_ptr<TupleBuffer>, kGroupPartitions> partitions_;
};

// Walks the rows of one partition, and the directory its groups are merged through. One a thread.
class GroupCursor {
 public:
  GroupCursor(MemoryAccount& account, RegionKind directory_kind)
      : account_(&account), kind_(directory_kind) {}
  ~GroupCursor();
  GroupCursor(const GroupCursor&) = delete;
  GroupCursor& operator=(const GroupCursor&) = delete;

  // Positions before the first row of the partition. True if rows of one group may be in several places, so
  // that they must be merged; then the directory is empty and large enough.
  bool open(const std::vector<LocalGroups*>& locals, unsigned partition);
  void rewind() { next_piece_ = 0; }
  // The next run of rows; false at the end.
  bool next();

  // Of the row that was merged into another one: instead of `next`.
  static constexpr std::uint64_t kMerged = 1;
  static constexpr std::size_t kDirectoryOffset = 0;
  static constexpr std::size_t kShiftOffset = 8;
  static constexpr std::size_t kBeginOffset = 16;
  static constexpr std::size_t kEndOffset = 24;

 private:
  HashRow** directory_ = nullptr;  // these four are read by generated code
  std::uint64_t shift_ = 63;
  std::byte* begin_ = nullptr;
  std::byte* end_ = nullptr;
  MemoryAccount* account_;
  RegionKind kind_;
  std::uint64_t capacity_ = 0;
  struct Piece {
    std::byte* begin;
    std::byte* end;
  };
  std::vector<Piece> pieces_;
  std::size_t next_piece_ = 0;
};

// Shared: which threads grouped.
struct GroupTables {
  std::vector<LocalGroups*> locals;
};

}  // namespace tailor::weft

extern "C" {
void* weft_rt_group_add(tailor::weft::LocalGroups* groups, std::uint64_t hash);
bool weft_rt_group_open(const tailor::weft::GroupTables* tables, tailor::weft::GroupCursor* cursor,
                        std::uint64_t partition);
void weft_rt_group_rewind(tailor::weft::GroupCursor* cursor);
bool weft_rt_group_next(tailor::weft::GroupCursor* cursor);
}
