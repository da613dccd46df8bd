// The data address of a sample that carries none: without PEBS or IBS a sample has the instruction and the
// registers, and the operand can be computed.
//
// The instruction that took the time is not the one a timer's sample points at: that one comes after it. So
// the search goes back from the IP to the nearest instruction with a memory operand, as long as there is one
// way only by which the CPU can have come, and undoes what is undone easily (adding and subtracting a
// constant). Where a register of the address was overwritten on the way, the operand is lost; then the
// operand of the instruction at the IP counts, which is about to be executed.
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
  std::uint8_t skid = 0;  // how many instructions before the IP; 0: the one at the IP
};

// The instructions of one code object. Immutable; any thread.
class CodeReader {
 public:
  // At most so many instructions before the IP.
  static constexpr int kMostSkid = 8;

  // Reads the code once from its beginning: linear in its size. `code` must outlive it.
  explicit CodeReader(std::span<const std::byte> code);

  // The operand of the access that the sample at `offset` stands for; `base` is the address of the code.
  // Nothing where no way leads back to one whose registers are known, or the offset is none of an
  // instruction. Accesses to the stack (spilled registers) count only where there is no other.
  std::optional<Operand> operand_at(std::uint64_t base, std::uint32_t offset,
                                    const Registers& registers) const;

  std::size_t bytes() const { return instructions_.capacity() * sizeof(Instruction); }

 private:
  struct Instruction {
    std::uint32_t offset;
    std::int32_t
        before;  // the only instruction that can come before it, as an index; negative: none, or several
  };

  std::span<const std::byte> code_;
  std::vector<Instruction> instructions_;
};

}  // namespace tailor::enrich
