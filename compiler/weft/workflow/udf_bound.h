// What bounds a user's function: computing or memory (Tupleware, section 4.1: a function is compute-bound if
// computing a tuple takes longer than loading it).
#pragma once

#include <cstdint>
#include <string>

#include "compiler/weft/workflow/host_speed.h"
#include "compiler/weft/workflow/udf_analyser.h"

namespace tailor::weft::workflow {

enum class Bound : unsigned char { kComputing, kMemory, kUnclear };

struct BoundVerdict {
  Bound bound = Bound::kUnclear;
  std::string reason;  // with the numbers
};

// `input_bytes`: of the whole input that the tuples come from; 0: not known. Pure.
BoundVerdict judge_bound(const UdfVerdict& function, const HostSpeed& host, std::uint64_t input_bytes);

// Whether the verdict holds against what a tuple took in a run: its cycles with 95 % confidence, as samples
// say. "holds", "wrong: ...", or "open: ..." where neither can be said. More than a quarter beside the
// prediction is wrong. Pure.
std::string held_against(const UdfVerdict& function, Bound bound, const HostSpeed& host, double measured_low,
                         double measured_high);

// "12.1 to 14.0 cycles", as predicted; "" if nothing is.
std::string cycles_text(const jit::LoopCycles& cycles);

}  // namespace tailor::weft::workflow
