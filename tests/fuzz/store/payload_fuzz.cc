// Payloads inside blocks whose checksums fit, so that the fuzzer gets past them: the input is a row of
// {type, size (2 bytes), payload}.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/store/show_everything.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace store = tailor::store;
  const auto header = store::encode(store::FileHeader{});
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  for (std::uint64_t sequence = 0; size >= 3; ++sequence) {
    const std::size_t want = data[1] | static_cast<std::size_t>(data[2]) << 8;
    const std::size_t have = std::min(want, size - 3);
    const std::string_view payload(reinterpret_cast<const char*>(data) + 3, have);
    file += store::make_block(static_cast<store::BlockType>(data[0]), sequence, payload);
    data += 3 + have;
    size -= 3 + have;
  }
  store::MemoryInput input{std::string_view(file)};
  tailor::test::show_everything(input);
  return 0;
}
