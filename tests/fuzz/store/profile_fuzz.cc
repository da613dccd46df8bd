// A whole file, as it comes.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/store/show_everything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  tailor::store::MemoryInput input(std::span(data, size));
  tailor::test::show_everything(input);
  return 0;
}
