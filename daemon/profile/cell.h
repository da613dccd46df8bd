// What samples are added up by.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "daemon/profile/attribution.h"
#include "daemon/profile/records.h"
#include "proto/base/ids.h"

namespace tailor::profile {

// Which memory had the data (perf_mem_data_src).
enum class MemoryLevel : std::uint8_t { kUnknown, kL1, kFillBuffer, kL2, kL3, kRam, kRemote, kOther };
inline constexpr std::size_t kMemoryLevels = 8;
MemoryLevel memory_level(std::uint64_t data_source);
// One of the data sources of that level.
std::uint64_t data_source_of(MemoryLevel level);

// Samples that look the same in every report.
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
  How how = How::kUnattributed;
  Reason reason = Reason::kNone;
  Quality quality = Quality::kExact;
  bool kernel = false;
  AddressFrom address_from = AddressFrom::kNone;
  std::uint8_t skid = 0;
  Wait wait = Wait::kNone;
  MemoryLevel served_by = MemoryLevel::kUnknown;
  std::uint32_t region = 0;       // of a wait always 0
  std::uint32_t engine_wait = 0;  // of a wait only, see SampleRecord
  auto operator<=>(const CellKey&) const = default;
};

// The cell that a sample counts in.
CellKey key_of(const SampleRecord& sample);
// A sample of the cell: key_of() of it is `key`.
SampleRecord sample_of(const CellKey& key);

// Where unattributed samples were: those of one reason at one address, of user code or of the user code that
// had entered the kernel; 0 where it is not known.
struct PlaceKey {
  ProcessId process;
  ExecutionHandle execution = 0;
  std::uint16_t source = 0;
  Reason reason = Reason::kNone;
  bool kernel = false;
  std::uint64_t address = 0;
  auto operator<=>(const PlaceKey&) const = default;
};
PlaceKey place_of(const SampleRecord& unattributed);
SampleRecord sample_of(const PlaceKey& place);

// Sums of whole numbers: the same in whatever order samples and sums are added. What exceeds a field stays at
// its greatest value.
struct Sum {
  using Wide = unsigned __int128;
  std::uint64_t samples = 0;
  std::uint64_t weight = 0;
  Wide weight_squares = 0;
  std::uint64_t latency = 0;          // over the samples that have one
  std::uint64_t latency_samples = 0;  // how many these are

  void add(const SampleRecord& sample);
  void add(const Sum& other);
  bool operator==(const Sum&) const = default;
};

// The same as numbers to compute with.
struct Cell {
  std::uint64_t samples = 0;
  double weight = 0;
  double weight_squares = 0;
  double latency = 0;                 // sum over the samples that have one
  std::uint64_t latency_samples = 0;  // how many these are
  double cpu = 0;                     // ns of CPU time, where the weight is elapsed time; else 0
};

Cell cell_of(const Sum& sum);

// Each key once, in their order.
using Cells = std::vector<std::pair<CellKey, Cell>>;

template <typename Number>
void add_bounded(Number& to, Number more) {
  if (__builtin_add_overflow(to, more, &to)) to = static_cast<Number>(-1);
}

inline void Sum::add(const SampleRecord& sample) {
  ++samples;
  add_bounded(weight, sample.weight);
  add_bounded(weight_squares, static_cast<Wide>(sample.weight) * sample.weight);
  if (sample.latency == 0) return;
  add_bounded(latency, std::uint64_t{sample.latency});
  ++latency_samples;
}

}  // namespace tailor::profile
