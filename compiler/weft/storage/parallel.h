// A loop over independent pieces of work on several threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace tailor::weft {

// Calls body(i) once for every i in [0, count), on up to `threads` threads including the caller's. `body`
// must not throw.
template <typename Body>
void parallel_for(std::size_t count, unsigned threads, const Body& body) {
  std::atomic<std::size_t> next{0};
  auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) body(i);
  };
  std::vector<std::jthread> helpers;
  for (unsigned t = 1; t < threads && t < count; ++t) helpers.emplace_back(work);
  work();
}

}  // namespace tailor::weft
