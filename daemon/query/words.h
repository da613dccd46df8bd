// The words in which reports speak of what the formats number. Stable: also keys of --json.
#pragma once

#include <string_view>

#include "daemon/profile/attribution.h"
#include "daemon/profile/source.h"
#include "daemon/query/cell.h"

namespace tailor::query {

struct Word {
  std::string_view key;   // for machines: "unknown_kernel"
  std::string_view text;  // for people
};

Word word(profile::Reason reason);
Word word(profile::How how);
Word word(profile::Quality quality);
Word word(profile::Unit unit);
Word word(MemoryLevel level);

}  // namespace tailor::query
