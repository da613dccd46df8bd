// How far an import is, as a terminal shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tailor::cli {

// Columns that the longest of these texts takes.
inline constexpr std::size_t kProgressWidth = 60;

// "42 %, 310 MiB/s, 3 s left" after `seconds`, of `size` bytes; "1.2 GiB, 310 MiB/s" where nobody knows how
// many there are (0). In the first second nobody knows how fast it is.
std::string import_progress(std::uint64_t done, std::uint64_t size, double seconds);

}  // namespace tailor::cli
