// What tests must know about sanitizers.
#pragma once

#include <gtest/gtest.h>

// The address sanitizer's backtrace() has a frame of its own.
#if defined(__SANITIZE_ADDRESS__)
#define TAILOR_SKIP_BACKTRACE_UNDER_ASAN() \
  GTEST_SKIP() << "the address sanitizer's backtrace() has a frame of its own"
#else
#define TAILOR_SKIP_BACKTRACE_UNDER_ASAN() static_cast<void>(0)
#endif

namespace tailor::test {
// Memory is not what it would be without.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif
}  // namespace tailor::test

// The thread sanitizer does not follow a process with several threads through fork.
#if defined(__SANITIZE_THREAD__)
#define TAILOR_SKIP_FORK_UNDER_TSAN() GTEST_SKIP() << "the thread sanitizer does not follow forks"
#else
#define TAILOR_SKIP_FORK_UNDER_TSAN() static_cast<void>(0)
#endif
