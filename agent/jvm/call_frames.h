// Call frame information (.eh_frame, DWARF 5 section 6.4) of code that a JVM generated, so that a sampled
// stack can be walked through it: HotSpot has none, and its code uses rbp as it likes. Pure.
#pragma once

#include <cstdint>
#include <string>

#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

// Of code whose frame, once it is complete, has a fixed size: compiled methods, native wrappers, most stubs.
// "" where the facts tell no such frame.
std::string frames_of_fixed_size(std::uint64_t base, std::uint32_t size, const NmethodFacts& facts);

// Of the interpreter, whose frames lie at rbp and keep the stack pointer of their caller below it.
std::string frames_of_interpreter(std::uint64_t base, std::uint32_t size);

}  // namespace tailor::jvm
