// The data address of a sample that carries none: without PEBS or IBS a sample has the instruction pointer
// and the registers, and the address can be computed.
//
// The instruction that took the time is not the one a timer's sample points at: that one comes after it. The
// address of a sample is therefore that of the last access before its IP. The search goes back from the IP
// along the only way by which the CPU can have come, and undoes what the instructions in between did to the
// registers. It ends at the first instruction that accesses memory. The address is lost, and never replaced
// by that of an older access, where
//   - a register of the address was overwritten and no other register holds its value,
//   - the instruction accesses several places (gathers, string instructions) or one that the registers do not
//     give (thread-local memory),
//   - code that was not seen ran in between (a call, a system call),
//   - several ways lead to an instruction. A jump through a register or a table may lead to any instruction
//     of the code, so there this holds for all of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proto/base/result.h"

namespace tailor::enrich {

// General registers at a sample, by perf number (asm/perf_regs.h).
struct Registers {
  std::uint32_t mask = 0;                 // which are there
  std::span<const std::uint64_t> values;  // in the order of the bits
};

struct Operand {
  std::uint64_t address = 0;
  std::uint8_t skid = 0;  // how many instructions before the IP, at least 1
};

// The instructions of one code object. Immutable; any thread.
class CodeReader {
 public:
  // The most instructions before the IP that are looked at.
  static constexpr int kMostSkid = 8;

  // Reads the code once from its beginning: linear in its size. `code` must outlive it.
  explicit CodeReader(std::span<const std::byte> code);

  // The last access before the sample at `offset`; `base` is the address of the code. Nothing where it is
  // lost, where there is none among the last kMostSkid instructions, and where no instruction begins at
  // `offset`.
  std::optional<Operand> operand_at(std::uint64_t base, std::uint32_t offset,
                                    const Registers& registers) const;

  std::size_t bytes() const { return instructions_.capacity() * sizeof(Instruction); }

 private:
  struct Instruction {
    std::uint32_t offset;
    std::int32_t before;  // index of the only instruction that can come before it; negative: none, or several
  };

  void find_ways();

  std::span<const std::byte> code_;
  std::vector<Instruction> instructions_;
};

}  // namespace tailor::enrich
