#include "daemon/query/cell_sums.h"

#include <linux/perf_event.h>

#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kFirstSlots = 1024;

std::uint32_t hash_of(const CellKey& key) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  const auto small =
      static_cast<std::uint64_t>(key.how) << 56 | static_cast<std::uint64_t>(key.reason) << 48 |
      static_cast<std::uint64_t>(key.quality) << 40 | static_cast<std::uint64_t>(key.kernel) << 32 |
      static_cast<std::uint64_t>(key.source) << 16 | key.pipeline;
  const auto component = static_cast<std::uint64_t>(key.engine_component) << 32 | key.link;
  // Two independent chains of products, so that they overlap.
  std::uint64_t one = (key.plan ^ key.code << 20 ^ key.execution << 40 ^ key.execution >> 24) * kOdd;
  std::uint64_t two = (component ^ static_cast<std::uint64_t>(key.level) << 24) * kOdd;
  one ^= small;
  one ^= static_cast<std::uint64_t>(key.region) << 24 ^ static_cast<std::uint64_t>(key.skid) << 50 ^
         static_cast<std::uint64_t>(key.served_by) << 44 ^
         static_cast<std::uint64_t>(key.address_from) << 60 ^ static_cast<std::uint64_t>(key.wait) << 40;
  two ^= static_cast<std::uint64_t>(key.process.pid) ^ key.process.start << 32;
  const std::uint64_t mixed = (one ^ one >> 29) * kOdd ^ (two ^ two >> 31) * kOdd;
  return static_cast<std::uint32_t>(mixed >> 32 ^ mixed);
}

}  // namespace

// The first word of the levels of a load; linux/perf_event.h, PERF_MEM_LVL_* and PERF_MEM_LVLNUM_*.
MemoryLevel memory_level(std::uint64_t data_source) {
  if (data_source == 0) return MemoryLevel::kUnknown;
  perf_mem_data_src source{};
  source.val = data_source;
  if (source.mem_remote) return MemoryLevel::kRemote;
  switch (source.mem_lvl_num) {
    case PERF_MEM_LVLNUM_L1:
      return MemoryLevel::kL1;
    case PERF_MEM_LVLNUM_LFB:
      return MemoryLevel::kFillBuffer;
    case PERF_MEM_LVLNUM_L2:
      return MemoryLevel::kL2;
    case PERF_MEM_LVLNUM_L3:
      return MemoryLevel::kL3;
    case PERF_MEM_LVLNUM_RAM:
      return MemoryLevel::kRam;
    default:
      break;
  }
  // Kernels before 4.14, and events without the number.
  if (source.mem_lvl & PERF_MEM_LVL_L1) return MemoryLevel::kL1;
  if (source.mem_lvl & PERF_MEM_LVL_LFB) return MemoryLevel::kFillBuffer;
  if (source.mem_lvl & PERF_MEM_LVL_L2) return MemoryLevel::kL2;
  if (source.mem_lvl & PERF_MEM_LVL_L3) return MemoryLevel::kL3;
  if (source.mem_lvl & PERF_MEM_LVL_LOC_RAM) return MemoryLevel::kRam;
  if (source.mem_lvl &
      (PERF_MEM_LVL_REM_RAM1 | PERF_MEM_LVL_REM_RAM2 | PERF_MEM_LVL_REM_CCE1 | PERF_MEM_LVL_REM_CCE2)) {
    return MemoryLevel::kRemote;
  }
  return source.mem_lvl & ~PERF_MEM_LVL_NA ? MemoryLevel::kOther : MemoryLevel::kUnknown;
}

CellKey key_of(const store::SampleRecord& s) {
  const attribute::Attribution& a = s.attribution;
  CellKey key;
  key.process = s.process;
  key.plan = a.plan;
  key.code = a.code;
  key.execution = a.execution;
  key.level = a.level;
  key.link = a.link;
  key.engine_component = a.engine_component;
  key.source = s.source;
  key.pipeline = a.pipeline;
  key.how = a.how;
  key.reason = a.reason;
  key.quality = a.quality;
  key.kernel = a.kernel;
  key.address_from = s.address_from;
  key.skid = s.skid;
  key.wait = s.wait;
  key.served_by = memory_level(s.data_source);
  key.region = s.region;
  return key;
}

CellSums::CellSums() : slots_(kFirstSlots) {}

void CellSums::add(const store::SampleRecord& sample) {
  const CellKey key = key_of(sample);
  Cell& cell = cell_of(key, hash_of(key));
  const auto weight = static_cast<double>(sample.weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
  if (sample.latency == 0) return;
  cell.latency += sample.latency;
  ++cell.latency_samples;
}

Cell& CellSums::cell_of(const CellKey& key, std::uint32_t hash) {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].sum != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && sums_[slots_[at].sum - 1].key == key)
      return sums_[slots_[at].sum - 1].cell;
  }
  sums_.push_back({key, {}});
  slots_[at] = {hash, static_cast<std::uint32_t>(sums_.size())};
  if (2 * sums_.size() > slots_.size()) grow();
  return sums_.back().cell;
}

void CellSums::grow() {
  std::vector<Slot> before = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : before) {
    if (slot.sum == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].sum != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::map<CellKey, Cell> CellSums::take() {
  std::map<CellKey, Cell> cells;
  for (const Sum& sum : sums_) cells.emplace(sum.key, sum.cell);
  *this = CellSums();
  return cells;
}

}  // namespace tailor::query
