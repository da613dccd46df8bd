// Any bytes as the code of a function at 0x2000. The tables of its jumps are the same bytes, at any address.
#include <algorithm>
#include <cstring>

#include "daemon/unwind/first_argument.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::unwind;
  constexpr std::uint64_t kBegin = 0x2000;
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto word = [bytes](std::uint64_t address) -> std::optional<std::int32_t> {
    std::int32_t value = 0;
    if (bytes.size() < sizeof value) return std::nullopt;
    std::memcpy(&value, bytes.data() + address % (bytes.size() - sizeof value + 1), sizeof value);
    return value;
  };
  const FirstArgument found = FirstArgument::find(bytes, kBegin, word);
  const StackView stack{0x7000, bytes.last(std::min<std::size_t>(size, 256))};
  Frame frame;
  for (unsigned reg = 0; reg < kRegisters; ++reg) frame.set(reg, reg);
  for (std::uint64_t address = kBegin - 1; address <= kBegin + size + 1; ++address) {
    for (const Places& places : {found.at(address), found.during_call(address)}) {
      if (places.slots > Places::kMostSlots || places.registers >> kReturnAddress != 0) __builtin_trap();
      if (value_in(places, frame, 0x7080, stack) && places.none()) __builtin_trap();
    }
    (void)found.call_before(address);
  }
  return 0;
}
