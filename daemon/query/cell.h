// What samples are added up by.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/profile/attribution.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::query {

// Which memory had the data (perf_mem_data_src).
enum class MemoryLevel : std::uint8_t { kUnknown, kL1, kFillBuffer, kL2, kL3, kRam, kRemote, kOther };
inline constexpr std::size_t kMemoryLevels = 8;
MemoryLevel memory_level(std::uint64_t data_source);

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
  profile::How how = profile::How::kUnattributed;
  profile::Reason reason = profile::Reason::kNone;
  profile::Quality quality = profile::Quality::kExact;
  bool kernel = false;
  profile::AddressFrom address_from = profile::AddressFrom::kNone;
  std::uint8_t skid = 0;
  profile::Wait wait = profile::Wait::kNone;
  MemoryLevel served_by = MemoryLevel::kUnknown;
  std::uint32_t region = 0;       // of a wait always 0
  std::uint32_t engine_wait = 0;  // of a wait only, see profile::SampleRecord
  auto operator<=>(const CellKey&) const = default;
};

struct Cell {
  std::uint64_t samples = 0;
  double weight = 0;
  double weight_squares = 0;
  double latency = 0;                 // sum over the samples that have one
  std::uint64_t latency_samples = 0;  // how many these are
};

// Each key once, in their order.
using Cells = std::vector<std::pair<CellKey, Cell>>;

}  // namespace tailor::query
