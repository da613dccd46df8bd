// How the daemon heard of code, beside what dictionary.proto names (CodeObject.told_by).
#pragma once

#include "tailor/v1/dictionary.pb.h"

namespace tailor::profile {

// Its agent said it after samples of its time had been attributed; its load time is true.
inline constexpr auto kToldByAgentLate = static_cast<v1::ToldBy>(3);
static_assert(v1::ToldBy_ARRAYSIZE == 3);

}  // namespace tailor::profile
