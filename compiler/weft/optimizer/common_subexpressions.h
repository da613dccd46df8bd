// Computing a thing once.
#pragma once

#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

// Gives subexpressions that occur more than once in the computations a unit of their own, computed before the
// first of them. Operations that need an overflow check stay where they are (they may stand in a branch that
// is not taken), and so does injected cost.
void share_common(std::vector<Map::Computation>* computations, IuPool* ius);

}  // namespace tailor::weft
