// The words in which reports speak of what the formats number. Stable: also keys of --json.
#pragma once

#include <string_view>

#include "daemon/attribute/attribution.h"
#include "daemon/capture/event.h"
#include "daemon/query/cell.h"

namespace tailor::query {

struct Word {
  std::string_view key;   // for machines: "unknown_kernel"
  std::string_view text;  // for people
};

Word word(attribute::Reason reason);
Word word(attribute::How how);
Word word(attribute::Quality quality);
Word word(capture::Unit unit);
Word word(MemoryLevel level);

}  // namespace tailor::query
