// What the computed data address of a sample is worth: every instruction that was followed by ptrace counts
// as a sample, and the last access before it is known from the registers right before that access ran.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/support/ptrace_stepper.h"

namespace tailor {

struct AccessTally {
  std::uint64_t resolved = 0;           // an address was computed
  std::uint64_t wrong = 0;              // of these: the last access was to another one, or was not seen
  std::uint64_t lost = 0;               // none was computed
  std::vector<std::uint64_t> wrong_at;  // where, as offsets in the code: at most a few

  void add(const AccessTally& other);
  std::uint64_t samples() const { return resolved + lost; }
  double wrong_percent() const;
  double lost_percent() const;
};

// All instructions of `code`, which runs at `base`: what StepRequest needs.
std::vector<TracedInstruction> instructions_of(std::span<const std::byte> code, std::uint64_t base);

// Steps whose last access was before the run began are no samples. `stale`: for the broken twin, each sample
// is given the registers of the step that lies so far before.
AccessTally judge_accesses(std::span<const TracedRun> runs, std::span<const std::byte> code,
                           std::uint64_t base, std::size_t stale = 0);

}  // namespace tailor
