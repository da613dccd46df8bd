// Where a function keeps its first argument while it runs. Engines whose operators are objects give the
// object to each of its functions as the first argument, so a stack says which operator works.
//
// The argument is in rdi when the function begins. It is followed along all ways through the function: copies
// in registers, and words of the frame. A result holds on every way that the code can have come. Jumps
// whose targets are not known can lead to every instruction. A compiler's own words of the frame have no
// address, so calls and stores through pointers leave them as they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "daemon/unwind/frame.h"

namespace tailor::unwind {

// Where the argument lies at one instruction. Offsets are from the CFA: the stack pointer before the call.
struct Places {
  static constexpr std::size_t kMostSlots = 2;
  std::uint32_t registers = 0;  // by DWARF's numbers, a bit each
  std::uint8_t slots = 0;
  std::array<std::int32_t, kMostSlots> offsets{};

  bool none() const { return registers == 0 && slots == 0; }
};

// Immutable; any thread.
class FirstArgument {
 public:
  // The signed word at an address of the file. Nothing: there is none.
  using ReadWord = std::function<std::optional<std::int32_t>(std::uint64_t)>;

  // Of the function with the bytes `code` at `address`. `read` is asked for the tables of jumps. The work is
  // bounded by a multiple of the size.
  static FirstArgument find(std::span<const std::byte> code, std::uint64_t address, const ReadWord& read);

  // Before the instruction at `address` runs.
  Places at(std::uint64_t address) const;
  // While the call runs that returns to `address`.
  Places during_call(std::uint64_t address) const;
  // The call that returns to `address`.
  struct CallSite {
    // A call through a word of the object that it gives as the first argument: where in the object. Such a
    // call gives the object to one of its methods. Below 0: it is none.
    std::int32_t method = -1;
    bool by_register = false;  // the address of the function was in a register
  };
  std::optional<CallSite> call_before(std::uint64_t address) const;

  std::size_t bytes() const { return at_.capacity() * sizeof(Entry) + calls_.capacity() * sizeof(Call); }

 private:
  struct Entry {
    std::uint32_t offset;
    Places places;
  };
  struct Call {
    std::uint32_t end;  // offset behind it
    std::int32_t method;
    bool by_register;
    Places places;
  };
  std::uint64_t address_ = 0;
  std::vector<Entry> at_;    // by offset; instructions with places only
  std::vector<Call> calls_;  // by end
};

// The value in `places`, by the registers of the frame that runs there and the CFA of its function. Nothing:
// they do not say.
std::optional<std::uint64_t> value_in(const Places& places, const Frame& frame, std::uint64_t cfa,
                                      const StackView& stack);

}  // namespace tailor::unwind
