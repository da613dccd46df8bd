// weft that registers its memory TAILOR_TWIN_SHIFT bytes away from where it is: what the tests of regions
// must find wrong.
#include <tailor/agent.h>

#include <cstdint>
#include <cstdlib>

extern "C" void __real_tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes);
extern "C" void __wrap_tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes);
extern "C" void __real_tailor_region_remove(const void* base);
extern "C" void __wrap_tailor_region_remove(const void* base);

namespace {

const void* moved(const void* base) {
  const char* shift = std::getenv("TAILOR_TWIN_SHIFT");
  return static_cast<const char*>(base) + (shift == nullptr ? 0 : std::strtoll(shift, nullptr, 10));
}

}  // namespace

extern "C" void __wrap_tailor_region_add(uint32_t region_kind, const void* base, uint64_t bytes) {
  __real_tailor_region_add(region_kind, moved(base), bytes);
}

extern "C" void __wrap_tailor_region_remove(const void* base) {
  __real_tailor_region_remove(moved(base));
}
