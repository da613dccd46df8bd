#include "compiler/weft/runtime/group_table.h"

#include <bit>
#include <cstring>

namespace tailor::weft {

LocalGroups::LocalGroups(MemoryAccount& account, RegionKind rows_kind, RegionKind directory_kind,
                         std::uint32_t row_bytes)
    : directory_(
          static_cast<HashRow**>(account.allocate_zeroed(sizeof(HashRow*) << kSlotBits, directory_kind))),
      account_(&account) {
  for (auto& partition : partitions_)
    partition = std::make_unique<TupleBuffer>(account, rows_kind, row_bytes);
}

LocalGroups::~LocalGroups() {
  account_->free(directory_, sizeof(HashRow*) << kSlotBits);
}

HashRow* LocalGroups::add(std::uint64_t hash) {
  if (groups_ == kMaxGroups) {
    std::memset(directory_, 0, sizeof(HashRow*) << kSlotBits);
    groups_ = 0;
    flushed_ = true;
  }
  TupleBuffer& partition = *partitions_[hash & (kGroupPartitions - 1)];
  auto* row = reinterpret_cast<HashRow*>(partition.append());
  std::memset(static_cast<void*>(row), 0, partition.row_bytes());
  HashRow*& slot = directory_[hash >> (64 - kSlotBits)];
  row->hash = hash;
  row->next = slot;
  slot = row;
  ++groups_;
  used_ = true;
  return row;
}

GroupCursor::~GroupCursor() {
  account_->free(directory_, capacity_ * sizeof(HashRow*));
}

bool GroupCursor::open(const std::vector<LocalGroups*>& locals, unsigned partition) {
  pieces_.clear();
  next_piece_ = 0;
  std::uint64_t rows = 0;
  unsigned contributors = 0;
  bool flushed = false;
  for (LocalGroups* groups : locals) {
    std::uint64_t before = rows;
    TupleBuffer& buffer = groups->partition(partition);
    buffer.for_each_chunk([&](std::byte* begin, std::byte* end) {
      pieces_.push_back({begin, end});
      rows += static_cast<std::uint64_t>(end - begin) / buffer.row_bytes();
    });
    contributors += rows > before;
    flushed |= groups->flushed();
  }
  if (contributors == 0 || (contributors == 1 && !flushed)) return false;
  std::uint64_t slots = std::bit_ceil(std::max<std::uint64_t>(rows, 2));
  if (slots > capacity_) {
    account_->free(directory_, capacity_ * sizeof(HashRow*));
    directory_ = nullptr;
    capacity_ = 0;
    directory_ = static_cast<HashRow**>(account_->allocate(slots * sizeof(HashRow*), kind_));
    capacity_ = slots;
  }
  std::memset(directory_, 0, slots * sizeof(HashRow*));
  // The low bits are the same in all of the partition, the high ones choose the slot.
  shift_ = 64 - static_cast<unsigned>(std::countr_zero(slots));
  return true;
}

bool GroupCursor::next() {
  if (next_piece_ == pieces_.size()) return false;
  begin_ = pieces_[next_piece_].begin;
  end_ = pieces_[next_piece_].end;
  ++next_piece_;
  return true;
}

}  // namespace tailor::weft

using tailor::weft::GroupCursor;
using tailor::weft::GroupTables;
using tailor::weft::LocalGroups;

void* weft_rt_group_add(LocalGroups* groups, std::uint64_t hash) {
  return groups->add(hash);
}
bool weft_rt_group_open(const GroupTables* tables, GroupCursor* cursor, std::uint64_t partition) {
  return cursor->open(tables->locals, static_cast<unsigned>(partition));
}
void weft_rt_group_rewind(GroupCursor* cursor) {
  cursor->rewind();
}
bool weft_rt_group_next(GroupCursor* cursor) {
  return cursor->next();
}
