// From a sample to its owner: docs/ARCHITECTURE.md, Attribution.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/attribute/attribution.h"
#include "daemon/capture/event.h"
#include "daemon/process/process_state.h"

namespace tailor::attribute {

// Whom `sample` belongs to, by the state of its own process at the sample's time. `chain` is its user call
// chain, innermost first, without the IP itself (return addresses). `process` is NULL where nothing is known
// of the process. Everything the process said up to the sample's time must have arrived.
//
// Pure: no I/O, no lock, no allocation, no state. Any thread, while `process` does not change.
Attribution attribute(const capture::Event& sample, std::span<const std::uint64_t> chain,
                      const process::ProcessState* process);

}  // namespace tailor::attribute
