// What a thread waits for, by the kernel functions it was in when it left the CPU.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string_view>

#include "daemon/capture/decode/event.h"

namespace tailor::capture {

// The wait of a thread that is inside the kernel function `name`; Wait::kNone: the name does not say it.
// Suffixes that compilers add (".isra.0") do not matter.
profile::Wait wait_in(std::string_view name);

// Not thread-safe; deterministic.
class WaitNames {
 public:
  // The function `name` is at [address, address + size). One that says nothing of waits is ignored.
  void learn(std::uint64_t address, std::uint64_t size, std::string_view name);

  // By kernel addresses, innermost first: a page fault if one was being handled, else what the innermost
  // function that is known says; Wait::kBlocked without one.
  profile::Wait of(std::span<const std::uint64_t> kernel_chain) const;

 private:
  struct Function {
    std::uint64_t end;
    profile::Wait wait;
  };
  std::map<std::uint64_t, Function> functions_;  // by address
};

}  // namespace tailor::capture
