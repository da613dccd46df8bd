// The lines of a tree, drawn row by row in depth-first order.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "viewer/cli/terminal.h"

namespace tailor::cli {

class TreeLines {
 public:
  explicit TreeLines(const Terminal& terminal) : terminal_(terminal) {}

  // What leads to the next row: "│  └─ ". `last`: no sibling follows. A tree deeper than 40 is drawn flat
  // from there on.
  std::string next(std::size_t depth, bool last);
  // What leads to a further line of that row, and is as wide: "│     ".
  std::string below() const;

 private:
  const Terminal& terminal_;
  std::vector<bool> open_;  // by depth: more siblings follow
};

}  // namespace tailor::cli
