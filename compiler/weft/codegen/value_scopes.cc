#include "compiler/weft/codegen/value_scopes.h"

#include <cstdio>
#include <cstdlib>

namespace tailor::weft {

SqlValue ValueScopes::get(const Iu* iu) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    auto found = scope->find(iu);
    if (found == scope->end()) continue;
    if (!found->second.load) return found->second.value;
    // Copied: generating the load may bind other units.
    Load load = found->second.load;
    SqlValue value = load();
    bind(iu, value);
    return value;
  }
  std::fprintf(stderr, "weft: the plan uses unit %u (%s) where it is not available\n", iu->id,
               iu->name.c_str());
  std::abort();
}

}  // namespace tailor::weft
