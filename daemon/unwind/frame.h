// What unwinding works on: the registers of a frame, and the piece of stack that was sampled. x86-64.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace tailor::unwind {

// Numbers of registers as DWARF has them (System V ABI, AMD64 supplement, figure 3.36).
inline constexpr unsigned kBp = 6, kSp = 7, kR13 = 13, kR15 = 15, kReturnAddress = 16;
inline constexpr unsigned kRegisters = 17;

// The return address column holds the frame's own instruction pointer.
struct Frame {
  std::array<std::uint64_t, kRegisters> value{};
  std::uint32_t known = 0;  // a bit per register

  bool has(unsigned reg) const { return known >> reg & 1; }
  void set(unsigned reg, std::uint64_t to) {
    value[reg] = to;
    known |= 1u << reg;
  }
  void forget(unsigned reg) { known &= ~(1u << reg); }
};

// A piece of a stack. Does not own its bytes.
struct StackPiece {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;

  std::optional<std::uint64_t> read(std::uint64_t at) const {
    if (at < address || bytes.size() < sizeof(std::uint64_t) ||
        at - address > bytes.size() - sizeof(std::uint64_t)) {
      return std::nullopt;
    }
    std::uint64_t word;
    std::memcpy(&word, bytes.data() + (at - address), sizeof word);
    return word;
  }
};

// Where the thread left generated code, as its engine says (tailor_frame_anchor).
struct Anchor {
  std::uint64_t sp = 0;  // 0: it did not
  std::uint64_t ip = 0;  // 0: in the word below
  std::uint64_t bp = 0;  // 0: not known
};

// What was sampled of a stack: from the stack pointer up, and from the anchor up.
struct StackView {
  std::uint64_t address = 0;
  std::span<const std::byte> bytes;
  StackPiece upper{};
  Anchor anchor{};

  std::optional<std::uint64_t> read(std::uint64_t at) const {
    const auto word = StackPiece{address, bytes}.read(at);
    return word ? word : upper.read(at);
  }
};

}  // namespace tailor::unwind
