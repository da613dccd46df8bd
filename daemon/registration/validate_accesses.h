// Checks what a plan says of its components' use of memory.
#pragma once

#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::registration {

// Whether all accesses and computations name components, pipelines and numbers that there are. The plan has
// at least one level. Error (kInvalid): what is wrong, in words that follow the plan's number. A pattern that
// this version does not know is no error: it is as good as ACCESS_UNKNOWN.
Status validate_accesses(const v1::Plan& plan);

}  // namespace tailor::registration
