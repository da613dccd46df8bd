// What samples are added up by.
#pragma once

#include <compare>
#include <cstdint>

#include "daemon/attribute/attribution.h"
#include "proto/base/ids.h"

namespace tailor::query {

// Samples that no report tells apart.
struct CellKey {
  ProcessId process;
  PlanId plan = 0;
  CodeId code = 0;
  ExecutionHandle execution = 0;
  LevelIndex level = 0;
  std::uint32_t link = 0;
  std::uint32_t engine_component = 0;
  std::uint16_t source = 0;
  std::uint16_t pipeline = 0;
  attribute::How how = attribute::How::kUnattributed;
  attribute::Reason reason = attribute::Reason::kNone;
  attribute::Quality quality = attribute::Quality::kExact;
  bool kernel = false;
  auto operator<=>(const CellKey&) const = default;
};

struct Cell {
  std::uint64_t samples = 0;
  double weight = 0;
  double weight_squares = 0;
};

}  // namespace tailor::query
