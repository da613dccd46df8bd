// An arena whose every byte is the peer's, read as the daemon reads it, and changed while it is read.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "daemon/registration/arena_view.h"
#include "daemon/registration/log_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::registration;
  // The arena's header is a page, mostly reserved: the input holds its first 48 bytes and the areas.
  constexpr std::size_t kHeader = 48, kMost = 64 * 1024;
  if (size < kHeader || size > kMost) return 0;
  std::size_t bytes = sizeof(tailor_arena_header) + (size - kHeader);
  auto memory = std::make_shared<std::vector<std::uint64_t>>(bytes / 8 + 1);
  auto* raw = reinterpret_cast<std::uint8_t*>(memory->data());
  std::memcpy(raw, data, kHeader);
  std::memcpy(raw + sizeof(tailor_arena_header), data + kHeader, size - kHeader);
  auto view = ArenaView::open({memory, reinterpret_cast<const std::byte*>(raw)}, bytes);
  if (!view) return 0;
  std::vector<LogReader> readers((*view)->area_count());
  for (int round = 0; round < 3; ++round) {
    for (std::uint32_t area = 0; area < (*view)->area_count(); ++area) {
      (*view)->read_slot(area);
      std::size_t records = 0;
      for (const LogRun& run : readers[area].drain(**view, area)) records += run.records.size();
      if (records > (*view)->log_capacity()) std::abort();
    }
    // Another state of the same memory, header included.
    std::reverse(raw, raw + bytes);
    raw[round * 7 % bytes] ^= 0x5A;
  }
  return 0;
}
