#include "compiler/weft/workflow/workflow_runtime.h"

#include <fmt/format.h>

#include "compiler/weft/runtime/query_error.h"

void weft_wf_lock(std::mutex* mutex) {
  mutex->lock();
}

void weft_wf_unlock(std::mutex* mutex) {
  mutex->unlock();
}

void weft_wf_fail_key(std::uint64_t line, std::int64_t key, std::uint64_t slots) {
  tailor::weft::fail(fmt::format("line {}: the key {} chooses nothing: the context has the slots 0 to {}",
                                 line, key, slots - 1));
}

void weft_wf_fail_count(std::uint64_t line, std::int64_t count, std::uint64_t most) {
  tailor::weft::fail(fmt::format("line {}: the function says that it wrote {} tuples, and may write 0 to {}",
                                 line, count, most));
}

namespace tailor::weft::workflow {

std::span<const RuntimeSymbol> workflow_symbols() {
  static const RuntimeSymbol symbols[] = {
      {"weft_wf_lock", reinterpret_cast<const void*>(&weft_wf_lock)},
      {"weft_wf_unlock", reinterpret_cast<const void*>(&weft_wf_unlock)},
      {"weft_wf_fail_key", reinterpret_cast<const void*>(&weft_wf_fail_key)},
      {"weft_wf_fail_count", reinterpret_cast<const void*>(&weft_wf_fail_count)},
  };
  return symbols;
}

}  // namespace tailor::weft::workflow
