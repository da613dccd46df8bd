// How fast this host is, as far as verdicts on users' functions need it. Measured, not assumed.
#pragma once

#include <cstdint>

namespace tailor::weft::workflow {

// 0: not known.
struct HostSpeed {
  double cycles_per_ns = 0;       // of a thread that is alone on its core
  double bytes_per_ns = 0;        // that a worker reads from memory, in order, while all workers do
  std::uint64_t cache_bytes = 0;  // of the last caches of all CPUs of this process
};

// With as many threads as there are workers. It takes about half a second, and up to 1 GiB of memory.
HostSpeed measure_host(unsigned workers);

}  // namespace tailor::weft::workflow
