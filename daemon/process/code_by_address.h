// Live code objects in the order of their addresses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/process/code_state.h"

namespace tailor::process {

// No two overlap, and none is empty. They lie in blocks: a process with many objects cannot make the daemon
// move all of them for each one that comes or goes. Each stays the caller's, and may not change its place.
// One thread.
class CodeByAddress {
 public:
  static constexpr std::size_t kBlock = 512;
  // `block`: the most objects that lie side by side.
  explicit CodeByAddress(std::size_t block = kBlock) : most_(block) {}

  void add(const CodeState& code);
  // It was added.
  void remove(const CodeState& code);

  // The object at `address`, else the next one, else NULL.
  const CodeState* first_ending_after(std::uint64_t address) const;
  // In the order of their addresses, while `visit` returns true. It changes nothing here.
  template <typename Visit>
  void overlapping(std::uint64_t begin, std::uint64_t end, const Visit& visit) const {
    std::size_t block = first_above(ends_, begin);
    std::size_t at = block < blocks_.size() ? first_above(blocks_[block].ends, begin) : 0;
    for (; block < blocks_.size(); ++block, at = 0) {
      for (; at < blocks_[block].codes.size(); ++at) {
        const CodeState& code = *blocks_[block].codes[at];
        if (code.base >= end || !visit(code)) return;
      }
    }
  }

 private:
  // The ends of the objects side by side: a search reads nothing else.
  struct Block {
    std::vector<std::uint64_t> ends;
    std::vector<const CodeState*> codes;
  };
  static std::size_t first_above(const std::vector<std::uint64_t>& ends, std::uint64_t address);
  void split(std::size_t block);
  bool join_with_next(std::size_t block);

  std::size_t most_;
  std::vector<Block> blocks_;        // none is empty
  std::vector<std::uint64_t> ends_;  // of the last object of each
};

}  // namespace tailor::process
