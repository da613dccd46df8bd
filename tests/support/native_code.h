// Machine code taken apart into instructions, with what each reads and writes. By LLVM's tables, so that
// nothing of the lineage is involved.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tailor {

// A register unit of the target, or a slot of the stack frame (from kFirstSlot on).
using Place = std::int64_t;
inline constexpr Place kFirstSlot = std::int64_t{1} << 40;

struct NativeInstruction {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  std::string text;  // mnemonic of LLVM's tables: "MOV64rm"
  bool is_call = false, is_return = false, is_branch = false, is_conditional = false;
  bool loads = false, stores = false;  // memory that is neither a stack slot nor a constant of the code
  bool is_padding = false;             // a no-op
  bool writes_r15 = false;
  bool moves_stack = false;               // push, pop, or arithmetic on the stack pointer
  std::int64_t target = -1;               // of a direct jump: an offset
  std::optional<std::int64_t> immediate;  // the last operand, where it is one
  std::vector<Place> reads, writes;
};

// Errors (bytes that are no instruction) abort. Padding between functions is left out of nothing: it decodes.
std::vector<NativeInstruction> take_apart(const std::string& code);

}  // namespace tailor
