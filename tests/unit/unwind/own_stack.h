// The registers and the stack of the caller, as a sampler would have taken them here.
#pragma once

#include <pthread.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "daemon/unwind/frame.h"

namespace tailor::test {

struct OwnStack {
  unwind::Frame frame;
  std::vector<std::byte> bytes;

  unwind::StackView view() const { return {frame.value[unwind::kSp], bytes}; }
};

// The address sanitizer must not mind: all of the stack is copied, whatever lies there.
[[gnu::noinline, gnu::no_sanitize_address]] inline void copy_stack(std::vector<std::byte>& out,
                                                                   std::uint64_t stack_pointer) {
  const auto* from = reinterpret_cast<const volatile std::byte*>(stack_pointer);
  for (std::byte& byte : out) byte = *from++;
}

// Bytes from `stack_pointer` to the end of the calling thread's stack: little may lie above a test's frame.
inline std::size_t stack_left(std::uint64_t stack_pointer) {
  pthread_attr_t attributes;
  void* base = nullptr;
  std::size_t size = 0;
  if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return 0;
  ::pthread_attr_getstack(&attributes, &base, &size);
  ::pthread_attr_destroy(&attributes);
  return static_cast<std::size_t>(reinterpret_cast<std::uint64_t>(base) + size - stack_pointer);
}

// To be inlined: the frame is that of the function that calls it.
[[gnu::always_inline]] inline void take_own_stack(OwnStack& out, std::size_t size = 4096) {
  std::array<std::uint64_t, unwind::kRegisters> values{};
  asm volatile(
      "mov %%rbx, 24(%0)\n\t"
      "mov %%rbp, 48(%0)\n\t"
      "mov %%rsp, 56(%0)\n\t"
      "mov %%r12, 96(%0)\n\t"
      "mov %%r13, 104(%0)\n\t"
      "mov %%r14, 112(%0)\n\t"
      "mov %%r15, 120(%0)\n\t"
      "lea 0(%%rip), %%rax\n\t"
      "mov %%rax, 128(%0)"
      :
      : "r"(values.data())
      : "rax", "memory");
  for (unsigned reg : {3u, 6u, 7u, 12u, 13u, 14u, 15u, 16u}) out.frame.set(reg, values[reg]);
  out.bytes.resize(std::min(size, stack_left(values[unwind::kSp])));
  copy_stack(out.bytes, values[unwind::kSp]);
}

}  // namespace tailor::test
