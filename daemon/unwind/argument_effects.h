// What machine instructions do to a value that is followed through a function: copies, stores to the frame,
// and what overwrites it. x86-64, System V ABI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace tailor::unwind {

// General registers by the hardware's numbers: AX CX DX BX SP BP SI DI R8 .. R15.
inline constexpr int kHardwareSp = 4, kHardwareBp = 5, kHardwareDi = 7;
inline constexpr std::int8_t kNoRegister = -1;

struct Effect {
  enum class Kind : std::uint8_t {
    kOther,  // nothing but what `kills` and the store say
    kCopy,   // to := from
    kLoad,   // to := word at base + number
    kStore,  // word at base + number := from
    kAdd,    // to := to + number
    kLea,    // to := base + number
    kPush,   // from; kNoRegister: something else
    kPop,    // to; kNoRegister: into nothing that is followed
    kLeave,
    kCall
  };
  enum class Flow : std::uint8_t {
    kNext,
    kBranch,   // to `target`, or on
    kJump,     // to `target`
    kTable,    // to one of the targets of table `target`
    kUnknown,  // a jump to a place that is not known
    kEnd
  };
  std::uint32_t offset = 0;  // from the begin of the function
  std::uint8_t length = 0;
  Kind kind = Kind::kOther;
  Flow flow = Flow::kNext;
  std::int8_t to = kNoRegister, from = kNoRegister, base = kNoRegister;
  std::uint8_t store_bytes = 0;  // what it writes at base + number besides its kind; 0: nothing that is known
  std::uint16_t kills = 0;       // registers that it writes, a bit each
  std::int32_t number = 0;
  std::int64_t target = 0;  // from the begin of the function, or the index of a table
  // A call through a word of the object that is its first argument: the word at object + method. Below 0: it
  // is none.
  std::int32_t method = -1;
  bool by_register = false;  // a call of the function whose address is in a register
  bool padding = false;      // does nothing
};

// Where a jump of a switch reads its target.
struct JumpTable {
  std::uint64_t address = 0;
  bool absolute = false;    // addresses of 64 bits; else signed distances of 32 bits from the table's begin
  std::uint32_t count = 0;  // of its places, 0: not known
};

struct Effects {
  std::vector<Effect> instructions;  // by offset, without gaps
  std::vector<JumpTable> tables;
};

// Reads the whole of `code`, which begins at `address`. Ends early where bytes are no instruction. Pure.
Effects effects_of(std::span<const std::byte> code, std::uint64_t address);

}  // namespace tailor::unwind
