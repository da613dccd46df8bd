// Any bytes as an .eh_frame at 0x1000 whose functions lie near 0x2000, and any stack; the same bytes as the
// text of /proc/PID/maps.
#include <algorithm>

#include "daemon/unwind/cfi_table.h"
#include "daemon/unwind/process_code.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::unwind;
  const auto bytes = std::as_bytes(std::span(data, size));
  const CfiTable table = CfiTable::parse(bytes, 0x1000);
  const StackView stack{0x7000, bytes.last(std::min<std::size_t>(size, 256))};
  CfiWork work;
  for (std::uint64_t address = 0x2000; address < 0x2048; address += 3) {
    Frame frame;
    for (unsigned reg = 0; reg < kRegisters; ++reg) frame.set(reg, 0x7000);
    frame.set(kReturnAddress, address);
    bool signal = false;
    const Frame before = frame;
    if (!table.step(frame, 0, true, stack, signal, work) && frame.value != before.value) __builtin_trap();
  }
  for (const Mapping& mapping : parse_maps({reinterpret_cast<const char*>(data), size})) {
    if (mapping.begin >= mapping.end) __builtin_trap();
  }
  return 0;
}
