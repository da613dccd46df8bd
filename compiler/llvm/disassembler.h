// Machine code as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tailor::jit {

struct NativeInstruction {
  std::uint32_t offset = 0;  // from the first byte of the code
  std::uint32_t size = 0;
  std::string text;  // Intel syntax; ".byte 0x.." for what is no instruction
};

// The instructions of x86-64 code that lies at address `base`, in order, without gaps. Thread-safe.
std::vector<NativeInstruction> disassemble(std::string_view code, std::uint64_t base);

}  // namespace tailor::jit
