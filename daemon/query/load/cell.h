// What samples are added up by, under the names that reports use.
#pragma once

#include "daemon/profile/cell.h"

namespace tailor::query {

using profile::Cell;
using profile::CellKey;
using profile::Cells;
using profile::kMemoryLevels;
using profile::memory_level;
using profile::MemoryLevel;
using profile::PlaceKey;

}  // namespace tailor::query
