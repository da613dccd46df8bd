#include "daemon/capture/host/older_kernels.h"

#include <cstdint>

namespace tailor::capture {

std::string give_up_newest(perf_event_attr& attr) {
  if (attr.read_format & PERF_FORMAT_LOST) {
    attr.read_format &= ~std::uint64_t{PERF_FORMAT_LOST};
    return "losses after the last record of a ring are not counted: the kernel is older than 6.0";
  }
  if (attr.inherit_thread) {
    attr.inherit_thread = 0;
    return "forked processes are sampled too, and their samples thrown away: the kernel is older than 5.13";
  }
  return {};
}

}  // namespace tailor::capture
