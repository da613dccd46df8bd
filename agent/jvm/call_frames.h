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

// The same, and right also where the code puts its frame up and takes it down.
std::string frames_of_compiled(const CompiledCode& code);

// Of code that never moves the stack pointer: its caller's address lies on top of the stack.
std::string frames_without_frame(std::uint64_t base, std::uint32_t size);

// Of the interpreter, whose frames lie at rbp and keep the stack pointer of their caller below it.
std::string frames_of_interpreter(std::uint64_t base, std::uint32_t size);

}  // namespace tailor::jvm
