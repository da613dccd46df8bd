// Any file at all.
#include "daemon/formats/perf_data.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  auto read = tailor::formats::read_perf_data(std::as_bytes(std::span(data, size)));
  if (!read.ok()) return 0;
  for (const auto& event : read->batch.events) {
    if (event.source >= read->events.size()) __builtin_trap();
  }
  return 0;
}
