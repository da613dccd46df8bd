// The listener that a recording tells its problems.
#pragma once

#include <functional>

#include "daemon/pipeline/pipeline.h"

namespace tailor::session {

// On the control thread; may log.
using OnProblem = std::function<void(const pipeline::Problem&)>;

}  // namespace tailor::session
