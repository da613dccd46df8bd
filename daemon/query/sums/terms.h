// The terms in which reports speak of what the formats number. Stable: also keys of --json.
#pragma once

#include <string_view>

#include "daemon/profile/attribution.h"
#include "daemon/profile/source.h"
#include "daemon/profile/walk_end.h"
#include "daemon/query/load/cell.h"

namespace tailor::query {

struct Term {
  std::string_view key;   // for machines: "unknown_kernel"
  std::string_view text;  // for people
};

Term term(profile::Reason reason);
Term term(profile::How how);
Term term(profile::Quality quality);
Term term(profile::Unit unit);
Term term(MemoryLevel level);
Term term(profile::WalkEnd end);

}  // namespace tailor::query
