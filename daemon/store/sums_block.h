// What the samples of several SAMPLES blocks come to, as a SUMS block says it (docs/profile-format.md,
// "Sums").
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/cell.h"
#include "proto/base/ids.h"
#include "proto/base/result.h"
#include "tailor/v1/profile.pb.h"

namespace tailor::store {

struct SummedBlock {
  std::uint64_t sequence = 0;
  std::uint64_t samples = 0;
  TimeNs first = kTimeMax, last = kTimeMin;  // of its samples
};

struct BlockSums {
  std::vector<SummedBlock> blocks;                                 // by sequence number
  std::vector<std::pair<profile::CellKey, profile::Sum>> cells;    // by key
  std::vector<std::pair<profile::PlaceKey, profile::Sum>> places;  // of the unattributed, by key

  std::uint64_t samples() const;
  TimeNs first() const;
  TimeNs last() const;
};

// The payload. At most kMaxBlockRows cells and as many places. The same sums always give the same bytes.
std::string encode(const BlockSums& sums);

// Fails, saying which rule is broken, on any block that encode() could not have made, and on a newer version
// of the rules.
Result<BlockSums> decode_sums(const v1::SumsBlock& block);

}  // namespace tailor::store
