// Reads blocks from bytes that may be damaged, cut short, still growing, or made to do harm.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/block.h"
#include "daemon/store/file_io.h"
#include "proto/base/result.h"

namespace tailor::store {

// What was found besides good blocks. A complete and undamaged file has `finished` and zeros elsewhere.
struct ReadReport {
  std::uint64_t blocks = 0, bytes = 0, samples = 0, activity = 0;  // read
  std::uint64_t damaged_spots = 0;                                 // places where bytes did not form a block
  std::uint64_t skipped_bytes = 0;                                 // in them
  std::uint64_t missing_blocks = 0;                                // by the gaps in the sequence numbers
  std::uint64_t malformed_blocks = 0;  // intact by their checksum, but with contents that break the rules
  std::uint64_t unknown_blocks = 0;    // of types a newer program wrote
  std::uint64_t tail_bytes = 0;        // after the last good block: a block being written, or torn by a crash
  bool finished = false;               // the END block was there
  std::uint64_t missing_samples = 0;   // known once finished: those END counts and we did not read
  std::string first_problem;           // where, and what
  std::vector<std::uint64_t> missing_segments = {};  // of a store, that retention removed meanwhile

  bool clean() const {
    return finished && damaged_spots == 0 && missing_blocks == 0 && malformed_blocks == 0 &&
           missing_samples == 0;
  }
};

struct Block {
  BlockHeader header;
  std::uint64_t offset = 0;  // of its header
  std::string payload;       // decompressed
};

// After damage it goes on at the next bytes that are a block header with a fitting checksum. Memory is
// bounded by the largest block. One thread; `input` and `report` must outlive it.
class BlockReader {
 public:
  BlockReader(Input& input, ReadReport& report) : input_(input), report_(report) {}

  // Must be called first. Fails on what is no profile, on another major version and on input errors.
  Result<FileHeader> open();

  enum class Leave {
    kNothing,   // the block is given
    kContents,  // it is not given, but damage of it is noticed: something else stands for it
    kAll,       // its payload is not even read
  };
  // `leave` is asked of each block that comes next.
  void leave_out(std::function<Leave(const BlockHeader&)> leave) { leave_ = std::move(leave); }

  // The next good block, or none at the end. Fails on input errors only.
  Result<std::optional<Block>> next();

  // Goes on at `offset`, which must be that of a block (from the catalogue); sequence numbers start anew
  // there.
  void seek(std::uint64_t offset);

 private:
  static constexpr std::size_t kChunk = 256u << 10;

  // At least `size` bytes from `offset` on, fewer only at the end of the input. Where the input is to be read
  // for them, more is read at once, up to `most`.
  Result<std::span<const std::uint8_t>> fetch(std::uint64_t offset, std::size_t size,
                                              std::size_t most = kChunk);
  // Moves past the block at `position_` if it is one to leave out, and another one, or the end, follows it.
  Result<bool> pass_over(const BlockHeader& header);
  // The offset of the next valid block header at or after `from`, or none.
  Result<std::optional<std::uint64_t>> find_header(std::uint64_t from);
  // Moves past damage at `position_`; false where nothing but a tail is left.
  Result<bool> resynchronise(std::uint64_t search_from, const char* what);
  Result<bool> is_boundary(std::uint64_t offset);
  Result<std::uint64_t> count_rest(std::uint64_t from);
  bool in_sequence(const BlockHeader& header);
  void problem(std::uint64_t offset, const std::string& what);

  Input& input_;
  ReadReport& report_;
  std::uint64_t position_ = 0;
  std::optional<std::uint64_t> expected_ = 0;
  std::vector<std::uint8_t> buffer_;
  std::uint64_t buffer_offset_ = 0;
  std::function<Leave(const BlockHeader&)> leave_;
};

}  // namespace tailor::store
