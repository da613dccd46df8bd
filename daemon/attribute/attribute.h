// From a sample to its owner: docs/ARCHITECTURE.md, Attribution.
#pragma once

#include <cstdint>
#include <span>

#include "daemon/attribute/attribution.h"
#include "daemon/capture/event.h"
#include "daemon/process/process_state.h"

namespace tailor::attribute {

// What attribution asks of a sample; as in capture::Event.
struct Evidence {
  TimeNs time = 0;
  std::int32_t tid = 0;
  capture::Mode mode = capture::Mode::kUser;
  bool has_tag = false;
  std::uint8_t tag_from = 0;
  std::uint64_t ip = 0, user_ip = 0, tag = 0;
};

// Whom `sample` belongs to, by the state of its own process at the sample's time. `chain` is its user call
// chain, innermost first, without the IP itself (return addresses). `process` is NULL where nothing is known
// of the process. Everything the process said up to the sample's time must have arrived.
//
// Pure: no I/O, no lock, no allocation, no state. Any thread, while `process` does not change.
//
// `word` is a blank one. It is filled in place because a copy of what was just written in small pieces waits
// for every one of them.
void attribute(const Evidence& sample, std::span<const std::uint64_t> chain,
               const process::ProcessState* process, Attribution& word);

inline Evidence evidence_of(const capture::Event& sample) {
  return {sample.time,     sample.tid, sample.mode,    sample.has_tag,
          sample.tag_from, sample.ip,  sample.user_ip, sample.tag};
}

inline Attribution attribute(const capture::Event& sample, std::span<const std::uint64_t> chain,
                             const process::ProcessState* process) {
  Attribution word;
  attribute(evidence_of(sample), chain, process, word);
  return word;
}

}  // namespace tailor::attribute
