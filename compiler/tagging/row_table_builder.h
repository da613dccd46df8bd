// Builds the row table of a code object: native offset -> components of the plan's lowest level, with a flag
// that says how the link is known (proto/tailor/v1/dictionary.proto, RowTable).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "compiler/tagging/deprecated_names.h"
#include "compiler/tagging/link_pool.h"
#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::tagging {

enum class RowFlag : std::uint8_t { kExact = 0, kInferred = 1, kShared = 2, kPrologue = 3, kUnmapped = 4 };

struct Row {
  std::uint32_t offset = 0;  // from the first byte of the code
  Link link;
  RowFlag flag = RowFlag::kUnmapped;
  bool operator==(const Row&) const = default;
};

// Not thread-safe.
class RowTableBuilder : public DeprecatedRowNames<RowTableBuilder, RowFlag> {
 public:
  // From `offset` on (until the next row) the code descends from `ids`. Offsets must not decrease; a second
  // row at the same offset replaces the first. Several ids make an exact row shared; no ids make it unmapped
  // unless it is prologue.
  void add(std::uint32_t offset, std::span<const ComponentId> ids, RowFlag flag);
  // The same with what `link` leads to in `pool`, which is one pool in all calls and may grow between them.
  void add(std::uint32_t offset, Link link, const LinkPool& pool, RowFlag flag);

  // Neighbouring rows that say the same are one.
  const std::vector<Row>& rows() const { return rows_; }
  const LinkPool& pool() const { return pool_; }

  tailor::v1::RowTable build() const;

 private:
  void add_own(std::uint32_t offset, Link link, RowFlag flag);

  std::vector<Row> rows_;
  LinkPool pool_;
  std::vector<Link> own_;  // of the other pool's sets, none where not met yet
};

// Bytes of code under each flag, indexed by RowFlag; what precedes the first row counts as unmapped.
struct RowCoverage {
  std::uint64_t bytes[5] = {};
};
RowCoverage coverage_of(std::span<const Row> rows, std::uint32_t code_bytes);

// Reads a table back. Errors: columns of different length, offsets that do not rise, unknown flags, links to
// sets that are not there.
Result<std::vector<Row>> decode_rows(const tailor::v1::RowTable& table);

}  // namespace tailor::tagging
