// How many executions an engine is asked to run without tags, as agents are told.
#pragma once

#include <cstdint>

#include "tailor/v1/registration.pb.h"

namespace tailor::session {

// `ppm`: of a million executions. At least one of a thousand, where any are asked for.
inline void set_untagged(std::uint32_t ppm, v1::Settings& to) {
  to.set_untagged_permille((ppm + 999) / 1000);
}

}  // namespace tailor::session
