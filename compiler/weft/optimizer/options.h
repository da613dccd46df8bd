// What may be asked of the optimizer, by the program or by hints in the text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/weft/plan/query_text.h"
#include "proto/base/result.h"

namespace tailor::weft {

// A forced join: of a table, named as the query names it, or of two subtrees, of which the first is built.
struct JoinTree {
  std::string table;
  std::vector<JoinTree> inputs;  // none or two
};

struct PlannerOptions {
  bool groupjoin = true;  // fuse a join and the grouping above it where that is possible
  std::optional<JoinTree> leading;
  int leading_location = -1;  // of the hint in the text
};

// Reads the hints of a comment "/*+ ... */" in the text on top of `defaults`. Words, separated by blanks:
//   groupjoin, no_groupjoin
//   leading((a b) c)   joins a and b, a being built; probes the result, built, with c. Tables that are not
//                      named are joined where the optimizer likes, but not in between.
// A word that is no hint is an error with its place.
Result<PlannerOptions> read_hints(const QueryText& sql, const PlannerOptions& defaults);

}  // namespace tailor::weft
