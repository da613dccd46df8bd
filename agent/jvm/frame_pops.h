// Where compiled code has taken down its frame, but has not returned yet, and where it has begun to put it
// up. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "agent/jvm/compiled_code.h"

namespace tailor::jvm {

// The ends of methods as HotSpot's compilers make them on x86-64: `add $frame, %rsp; pop %rbp`, a poll of the
// safepoint or none, `ret`. Only a sequence that takes down a frame of just this size counts.
std::vector<FramePop> frame_pops_of(std::span<const std::uint8_t> code, const NmethodFacts& facts);

// Offset of the `sub %rsp` behind a method's `push %rbp`, 0: it begins otherwise.
std::uint32_t frame_push_of(std::span<const std::uint8_t> code, const NmethodFacts& facts);

}  // namespace tailor::jvm
