// The rules by which a frame's registers lead to its caller's, and the instructions that make them (DWARF 5,
// section 6.4.2).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "daemon/unwind/frame.h"
#include "daemon/unwind/walk_end.h"

namespace tailor::unwind {

// Where the caller's value of a register is.
struct CfiRule {
  enum class Kind : std::uint8_t {
    kSame,
    kUndefined,
    kAtOffset,
    kIsOffset,
    kRegister,
    kAtExpression,
    kIsExpression
  };
  Kind kind = Kind::kSame;
  std::int64_t number = 0;  // offset from the CFA, or the register
  std::span<const std::byte> expression{};
};

struct CfiRules {
  std::array<CfiRule, kRegisters> registers{};
  std::uint64_t cfa_register = kSp;
  std::int64_t cfa_offset = 0;
  std::span<const std::byte> cfa_expression{};  // instead, if not empty

  // Makes `frame` its caller's. False, and nothing changed, if something it takes is not known. Adds to
  // `work` the length of the expressions that it evaluates.
  bool apply(Frame& frame, const StackView& stack, std::size_t& work) const;
  // Why apply() fails for the frame. Adds to `work` as that does.
  WalkEnd why_not(const Frame& frame, const StackView& stack, std::size_t& work) const;

 private:
  std::optional<std::uint64_t> cfa_of(const Frame& frame, const StackView& stack, std::size_t& work) const;
};

struct CfiProgram {
  std::uint64_t code_alignment;
  std::int64_t data_alignment;
  std::uint8_t pointer_encoding;
  std::span<const std::byte> initial, own;  // instructions
  std::uint64_t initial_address, own_address;

  // The rules that hold at `address` of the code that begins at `begin`. False for instructions that are
  // unknown or do not fit, and for more than kMostWork. Adds to `work` what it cost: one an instruction, and
  // 16 where it copies all rules.
  bool run(std::uint64_t begin, std::uint64_t address, CfiRules& out, std::size_t& work) const;
  static constexpr std::size_t kMostWork = std::size_t{128} << 10;
};

}  // namespace tailor::unwind
