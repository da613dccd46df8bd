// The perf map: /tmp/perf-PID.map, the convention by which JIT compilers name their code to perf
// (Linux, tools/perf/Documentation/jit-interface.txt). One line a symbol: "START SIZE NAME", numbers in
// hexadecimal, the name up to the end of the line. Compilers write several blanks or tabs, too. It has no
// times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "daemon/formats/jit_symbol.h"

namespace tailor::formats {

// At most this many symbols are taken from one file; the rest is counted as malformed.
inline constexpr std::size_t kMaxJitSymbols = std::size_t{1} << 20;
// Longer names are cut.
inline constexpr std::size_t kMaxJitName = 4096;
// A larger function of a jitdump, which brings its code, is taken for a mistake.
inline constexpr std::uint64_t kMaxJitCode = std::uint64_t{1} << 28;
// A line of a perf map costs the same whatever it covers, as an arena for all code. Places in code have 32
// bits.
inline constexpr std::uint64_t kMaxMappedCode = UINT32_MAX;

// Never fails: what is no line of a perf map is counted. Symbols come in the order of the file, those that
// overlap others too. Text behind the last end of a line is not there yet: JitSymbols::cut, and `used` says
// how many bytes were whole lines. `whole`: nobody writes any more, so that is the last line.
JitSymbols parse_perf_map(std::string_view text, std::size_t& used, bool whole = false);

}  // namespace tailor::formats
