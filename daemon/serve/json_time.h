// Times as JSON has them (docs/http-api.md).
#pragma once

#include <cstdint>

namespace tailor::serve {

// "1764860000123.4": Unix time in ms.
inline double to_ms(std::uint64_t ns) {
  const std::uint64_t us = ns / 1000;
  return static_cast<double>(us) / 1000.0;
}

}  // namespace tailor::serve
