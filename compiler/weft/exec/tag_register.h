// The tag register, r15, on the engine's side of generated code. Only for files compiled with -ffixed-r15.
#pragma once

#include <cstdint>

namespace tailor::weft {

// While it lives, the calling thread works on behalf of `tag` (0: nobody in particular). Puts back what the
// register held, which may be a value of code that is not ours.
class TagScope {
 public:
  explicit TagScope(std::uint64_t tag) {
    asm volatile("mov %%r15, %0" : "=r"(before_));
    asm volatile("mov %0, %%r15" : : "r"(tag));
  }
  TagScope(const TagScope&) = delete;
  ~TagScope() { asm volatile("mov %0, %%r15" : : "r"(before_)); }

 private:
  std::uint64_t before_;
};

}  // namespace tailor::weft
