// By which numbers the agent knows code that HotSpot compiled.
#pragma once

#include <cstdint>

namespace tailor::jvm {

// Any thread.
class CodeNumbers {
 public:
  virtual ~CodeNumbers() = default;
  // The agent will know code by another number. False: it is not there any more.
  virtual bool renumber(std::uint64_t base, std::uint64_t from, std::uint64_t to) = 0;
  // It has been told so. False, and it is unloaded: the code went meanwhile.
  virtual bool confirm(std::uint64_t base, std::uint64_t id) = 0;
};

}  // namespace tailor::jvm
