// Turns code that a process announced in perf's conventions into a plan dictionary and code objects, so that
// a process without an agent is attributed like every other: its levels are function, or function > line.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "daemon/foreign/jit_symbol.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::foreign {

struct ForeignPlan {
  v1::Plan plan;
  // load_tsc is `tsc_of` of the symbol's time stamp, 0 (from the beginning) where it has none.
  std::vector<v1::CodeObject> code;
};

// `name` is the plan's. The line level is there if any symbol has source lines. Component ids follow the
// order of `symbols`; functions of one name are one component. Owns copies of everything.
ForeignPlan make_foreign_plan(const std::vector<JitSymbol>& symbols, const std::string& name,
                              const std::function<std::uint64_t(std::uint64_t timestamp_ns)>& tsc_of);

}  // namespace tailor::foreign
