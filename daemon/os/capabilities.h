// What a thread may do beyond its user's rights: capabilities(7). They belong to threads, not to processes: a
// thread that begins has those of the thread that starts it.
#pragma once

#include <cstdint>

#include "proto/base/result.h"

namespace tailor::os {

// Bit n is capability n of linux/capability.h.
using Capabilities = std::uint64_t;

constexpr Capabilities capability(int number) {
  return Capabilities{1} << number;
}

// Of the calling thread: what it has, or may take at any time.
Result<Capabilities> permitted_capabilities();

// Of the calling thread. It keeps the others in reserve: a later call can take them again.
Status set_effective_capabilities(Capabilities effective);

// The calling thread, and every thread that it starts from now on, has these capabilities at most, for good:
// no program that it executes gets others, whatever its owner and its file say. It gets no capability that it
// does not have. If a part fails, the rest is done all the same, and the error names the first one that
// failed.
Status keep_capabilities(Capabilities kept);

}  // namespace tailor::os
