// Names of hardware events to the numbers the kernel wants, by libpfm4's tables. Works for every
// microarchitecture on any host.
#pragma once

#include <cstdint>
#include <string>

#include "proto/base/result.h"

namespace tailor::capture {

struct EncodedEvent {
  std::uint32_t type = 0;
  std::uint64_t config = 0, config1 = 0, config2 = 0;
  unsigned precise_ip = 0;
  bool operator==(const EncodedEvent&) const = default;
};

// `name` as libpfm4 writes it, with its table: "skl::INST_RETIRED:PREC_DIST:precise=3". Thread-safe. The
// error says what libpfm4 found wrong.
Result<EncodedEvent> encode_event(const std::string& name);

}  // namespace tailor::capture
