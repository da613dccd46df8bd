// The runtime's functions by name, for the linker of generated code.
#pragma once

#include <span>

namespace tailor::weft {

struct RuntimeSymbol {
  const char* name;
  const void* address;
};
std::span<const RuntimeSymbol> runtime_symbols();

}  // namespace tailor::weft
