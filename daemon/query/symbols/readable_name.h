// Names of functions for people.
#pragma once

#include <string>

namespace tailor::query {

// A linker's name for people: demangled (C++, and both manglings of Rust), without parameters, return type
// and hash, as perf shows it. Any other text stays as it is. Text beyond 4096 bytes is cut.
std::string readable_name(const std::string& linker_name);

}  // namespace tailor::query
