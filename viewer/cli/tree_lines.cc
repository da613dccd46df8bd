#include "viewer/cli/tree_lines.h"

#include <algorithm>

namespace tailor::cli {

std::string TreeLines::next(std::size_t depth, bool last) {
  constexpr std::size_t kMostNested = 40;
  depth = std::min(depth, kMostNested);
  std::string prefix;
  for (std::size_t d = 1; d < depth; ++d) prefix += d < open_.size() && open_[d] ? terminal_.trunk() : "   ";
  if (depth > 0) prefix += last ? terminal_.last_branch() : terminal_.branch();
  open_.resize(depth);
  open_.push_back(!last);
  return prefix;
}

std::string TreeLines::below() const {
  std::string prefix;
  for (std::size_t d = 1; d < open_.size(); ++d) prefix += open_[d] ? terminal_.trunk() : "   ";
  return prefix;
}

}  // namespace tailor::cli
