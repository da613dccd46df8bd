// Gives sums in the place of the samples of a profile, where it has them and the reader wants them.
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "daemon/store/block_reader.h"
#include "daemon/store/file_io.h"
#include "daemon/store/sums_block.h"

namespace tailor::store {

class SumsTaker {
 public:
  virtual ~SumsTaker() = default;
  // Whether it has taken these sums. Then their samples are not given.
  virtual bool take(const BlockSums& sums) = 0;
  // Whether samples of these times need not be given at all.
  virtual bool leaves_out(TimeNs first, TimeNs last) const = 0;
};

// One thread; everything passed to the constructor must outlive it.
class SumsReader {
 public:
  // Looks at the headers of all blocks, up to the first that is not one, and at the SUMS blocks.
  SumsReader(Input& input, SumsTaker& taker, ReadReport& report);

  // What of the block, which comes next, need not be read: `taker` has it in sums, or leaves it out. Sums are
  // given with the first block of their group. That its samples are damaged is noticed all the same.
  BlockReader::Leave leave(const BlockHeader& block);

 private:
  struct Group {
    std::uint64_t offset = 0;  // of the SUMS block
    std::uint64_t bytes = 0;   // of that block, as it lies there
    enum class State { kUnknown, kTaken, kRefused } state = State::kUnknown;
  };

  std::optional<BlockSums> read(std::uint64_t offset, std::uint64_t bytes);
  // Keeps the group unless it sums up anything but samples before it, in no other group.
  void keep(const Group& group, const std::vector<SummedBlock>& blocks);

  Input& input_;
  SumsTaker& taker_;
  ReadReport& report_;
  std::vector<Group> groups_;
  static constexpr std::uint32_t kNone = UINT32_MAX;
  struct Member {
    std::uint32_t group = kNone;
    SummedBlock block;
  };
  std::unordered_map<std::uint64_t, Member> members_;  // the SAMPLES blocks by number
};

}  // namespace tailor::store
