// Last touches to a physical plan.
#pragma once

#include "compiler/weft/plan/operator.h"

namespace tailor::weft {

// Numbers operators from 1, the root first; brings the nullability of expressions in line with that of the
// units they use (joins make units nullable after expressions over them were built).
void finish(Plan* plan);

}  // namespace tailor::weft
