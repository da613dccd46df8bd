// What it takes to keep what an agent says, about.
#pragma once

#include <cstddef>

#include "daemon/pipeline/shares.h"
#include "daemon/profile/records.h"
#include "tailor/v1/registration.pb.h"

namespace tailor::pipeline {

inline constexpr std::size_t kNode = 64;  // of a map

std::size_t bytes_of(const profile::ExecutionRecord& execution);
std::size_t bytes_of(const v1::WaitNames& waits);
// Of any message; 0 of what is not kept.
Use wanted(const v1::AgentMessage& message);

}  // namespace tailor::pipeline
