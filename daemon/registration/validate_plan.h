// Whether a plan dictionary fits together (proto/tailor/v1/dictionary.proto).
#pragma once

#include "proto/base/result.h"
#include "tailor/v1/dictionary.pb.h"

namespace tailor::registration {

Status validate_plan(const v1::Plan& plan);

}  // namespace tailor::registration
