// The page of /dev/tailor_clock, mapped.
#pragma once

#include <tailor/clock_page.h>

#include <optional>
#include <string>

#include "daemon/clock/observation.h"
#include "proto/base/result.h"

namespace tailor::clock {

// Owns the mapping; while it lives the module cannot be unloaded. Any thread may read.
class ModulePage {
 public:
  // Error: the module is not loaded (ENOENT), the page is not for us (EACCES), or its layout is another
  // version's (EPROTO); the message says what to do.
  static Result<ModulePage> open(const std::string& device = TAILOR_CLOCK_DEVICE);

  ModulePage(ModulePage&& other) noexcept;
  ModulePage& operator=(ModulePage&& other) noexcept;
  ~ModulePage();

  // The line of MONOTONIC_RAW and the perf pairing. Nothing while the module does not vouch for the TSC.
  std::optional<ModuleTime> read() const;

 private:
  explicit ModulePage(const tailor_clock_page* page) : page_(page) {}
  const tailor_clock_page* page_;
};

}  // namespace tailor::clock
