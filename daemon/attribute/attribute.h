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
//
// `word` is overwritten. It is filled in place because a copy of what was just written in small pieces waits
// for every one of them.
void attribute(const capture::Event& sample, std::span<const std::uint64_t> chain,
               const process::ProcessState* process, Attribution& word);

inline Attribution attribute(const capture::Event& sample, std::span<const std::uint64_t> chain,
                             const process::ProcessState* process) {
  Attribution word;
  attribute(sample, chain, process, word);
  return word;
}

}  // namespace tailor::attribute
