// Texts of /proc, which hold names that processes choose.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "daemon/registration/peer_process.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tailor::registration;
  std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)parse_start_time(text);
  auto ids = parse_namespace_ids(text);
  if (ids && (ids->outer <= 0 || ids->inner <= 0)) std::abort();
  return 0;
}
