// Small programs with the ways to access memory that matter. Those without a table of jumps are one piece of
// code.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <vector>

namespace tailor {

struct AccessProgram {
  const char* name;
  const void* entry;
  std::span<const std::byte> code;  // that it is a part of
  std::function<void()> run;
};

// Those that this CPU can run.
std::vector<AccessProgram> access_programs();

}  // namespace tailor
