// jitdump: the binary format in which JIT compilers hand their code to perf, with times, machine code and
// source lines (Linux, tools/perf/Documentation/jitdump-specification.txt, version 1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/foreign/jit_symbol.h"
#include "proto/base/result.h"

namespace tailor::foreign {

struct JitDump {
  std::uint32_t pid = 0;        // as the process sees itself
  bool tsc_timestamps = false;  // times are raw TSC values, else CLOCK_MONOTONIC ns
  JitSymbols code;              // in the order of the file; a move is a symbol again at its new address
};

// An error only if the file is no jitdump of this machine's byte order and version 1. A record that does not
// fit its own sizes is counted and passed over; a file that ends early gives what it has.
Result<JitDump> parse_jitdump(std::span<const std::byte> file);

}  // namespace tailor::foreign
