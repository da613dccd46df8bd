// A journal, replayed through the whole pipeline: agents' words, ring bytes, activity, clocks, in any order.
// Checksums are put right first, or no changed byte would come further than them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "daemon/journal/journal_format.h"
#include "daemon/journal/replay.h"
#include "daemon/store/crc32c.h"
#include "daemon/store/file_io.h"
#include "tests/support/collecting_sink.h"

namespace {

void put_checksums_right(std::span<std::uint8_t> file) {
  using tailor::journal::kFrameBytes, tailor::journal::kHeaderBytes;
  std::size_t at = kHeaderBytes;
  while (at + kFrameBytes <= file.size()) {
    std::uint32_t size = 0;
    std::memcpy(&size, &file[at], sizeof size);
    if (size > file.size() - at - kFrameBytes) return;
    const std::uint32_t sum = tailor::store::crc32c(file.subspan(at + kFrameBytes, size));
    std::memcpy(&file[at + sizeof size], &sum, sizeof sum);
    at += kFrameBytes + size;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> file(data, data + size);
  put_checksums_right(file);
  tailor::store::MemoryInput input(file);
  tailor::test::CollectingSink sink;
  (void)tailor::journal::replay(input, sink);
  return 0;
}
