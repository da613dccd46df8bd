// Whether a code object fits together (proto/tailor/v1/dictionary.proto). Its links name components of a plan
// that is not known here: the upper bound is checked where the two are joined.
#pragma once

#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::registration {

Status validate_code(const v1::CodeObject& code);

}  // namespace tailor::registration
