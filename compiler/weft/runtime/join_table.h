// The hash table of a join: rows lie in the builders' buffers, a directory of chains is made over them once
// all are there.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/weft/runtime/hash_row.h"
#include "compiler/weft/runtime/tuple_buffer.h"

namespace tailor::weft {

// One a running query. Lifecycle: open() when the build pipeline has ended (one thread), then insert() for
// every piece (any threads, each piece once), then probes (any threads).
class JoinTable {
 public:
  JoinTable(MemoryAccount& account, RegionKind directory_kind) : account_(&account), kind_(directory_kind) {}
  ~JoinTable();
  JoinTable(const JoinTable&) = delete;
  JoinTable& operator=(const JoinTable&) = delete;

  // Sizes the directory for all rows of `buffers`, which must outlive the table.
  void open(const std::vector<TupleBuffer*>& buffers);
  std::size_t pieces() const { return pieces_.size(); }
  void insert(std::size_t piece);

  struct Piece {
    std::byte* begin;
    std::byte* end;
  };
  const Piece& piece(std::size_t i) const { return pieces_[i]; }

  static constexpr std::size_t kDirectoryOffset = 0;
  static constexpr std::size_t kShiftOffset = 8;

 private:
  std::uint64_t* directory_ = nullptr;  // read by generated code
  std::uint64_t shift_ = 63;            // slot = hash >> shift_
  MemoryAccount* account_;
  RegionKind kind_;
  std::uint32_t row_bytes_ = 0;
  std::uint64_t slots_ = 0;
  std::vector<Piece> pieces_;
};

}  // namespace tailor::weft

extern "C" {
// The rows of a piece, for scanning the table: begin at [0], end at [1].
void weft_rt_join_piece(const tailor::weft::JoinTable* table, std::uint64_t piece, std::byte** bounds);
[[noreturn]] void weft_rt_fail_single(void);
}
