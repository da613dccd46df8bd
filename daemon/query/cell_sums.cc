#include "daemon/query/cell_sums.h"

#include <linux/perf_event.h>

#include <bit>
#include <utility>

namespace tailor::query {
namespace {

constexpr std::size_t kFirstSlots = 1024;

// Word by word: a wider comparison would wait for the words that were just written.
inline bool same(const std::array<std::uint64_t, 8>& a, const std::array<std::uint64_t, 8>& b) {
  return a[7] == b[7] && a[4] == b[4] && a[0] == b[0] && a[1] == b[1] && a[2] == b[2] && a[3] == b[3] &&
         a[5] == b[5] && a[6] == b[6];
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

// One expression a word, so that the words stay in registers. key_of() is the way back.
inline CellSums::Words CellSums::words_of(const store::SampleRecord& s) {
  const attribute::Attribution& a = s.attribution;
  const MemoryLevel served_by = s.data_source == 0 ? MemoryLevel::kUnknown : memory_level(s.data_source);
  auto byte = [](auto value, int number) { return static_cast<std::uint64_t>(value) << 8 * number; };
  return {a.plan,
          a.code,
          a.execution,
          s.process.start,
          std::uint64_t{a.link} << 32 | a.engine_component,
          std::uint64_t{static_cast<std::uint32_t>(s.process.pid)} << 32 | a.level,
          std::uint64_t{s.region} << 32 | std::uint64_t{s.source} << 16 | a.pipeline,
          byte(a.how, 0) | byte(a.reason, 1) | byte(a.quality, 2) | byte(a.kernel, 3) |
              byte(s.address_from, 4) | byte(s.skid, 5) | byte(s.wait, 6) | byte(served_by, 7)};
}

CellKey CellSums::key_of(const Words& words) {
  auto byte = [&words](int number) { return static_cast<std::uint8_t>(words[7] >> 8 * number); };
  CellKey key;
  key.plan = words[0];
  key.code = words[1];
  key.execution = words[2];
  key.process.start = words[3];
  key.link = static_cast<std::uint32_t>(words[4] >> 32);
  key.engine_component = static_cast<std::uint32_t>(words[4]);
  key.process.pid = static_cast<std::int32_t>(words[5] >> 32);
  key.level = static_cast<std::uint32_t>(words[5]);
  key.region = static_cast<std::uint32_t>(words[6] >> 32);
  key.source = static_cast<std::uint16_t>(words[6] >> 16);
  key.pipeline = static_cast<std::uint16_t>(words[6]);
  key.how = static_cast<attribute::How>(byte(0));
  key.reason = static_cast<attribute::Reason>(byte(1));
  key.quality = static_cast<attribute::Quality>(byte(2));
  key.kernel = byte(3) != 0;
  key.address_from = static_cast<store::AddressFrom>(byte(4));
  key.skid = byte(5);
  key.wait = static_cast<store::Wait>(byte(6));
  key.served_by = static_cast<MemoryLevel>(byte(7));
  return key;
}

// Three independent chains of products, so that they overlap.
inline std::uint32_t CellSums::hash_of(const Words& key) {
  constexpr std::uint64_t kOdd = 0x9E3779B97F4A7C15;
  const std::uint64_t one = (key[0] ^ std::rotl(key[1], 20) ^ std::rotl(key[2], 40)) * kOdd;
  const std::uint64_t two = (key[4] ^ std::rotl(key[3], 13)) * kOdd;
  const std::uint64_t three = (key[7] ^ std::rotl(key[5], 29) ^ std::rotl(key[6], 47)) * kOdd;
  const std::uint64_t mixed =
      (one ^ one >> 29) * kOdd ^ std::rotl((two ^ two >> 31) * kOdd, 21) ^ (three ^ three >> 33) * kOdd;
  return static_cast<std::uint32_t>(mixed >> 32 ^ mixed);
}

CellSums::CellSums() : slots_(kFirstSlots) {}

void CellSums::add(const store::SampleRecord& sample) {
  Cell& cell = cell_of(words_of(sample));
  const auto weight = static_cast<double>(sample.weight);
  ++cell.samples;
  cell.weight += weight;
  cell.weight_squares += weight * weight;
  if (sample.latency == 0) return;
  cell.latency += sample.latency;
  ++cell.latency_samples;
}

inline Cell& CellSums::cell_of(const Words& key) {
  const std::uint32_t hash = hash_of(key);
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  for (; slots_[at].sum != 0; at = (at + 1) & mask) {
    if (slots_[at].hash == hash && same(sums_[slots_[at].sum - 1].key, key))
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
  for (const Sum& sum : sums_) cells.emplace(key_of(sum.key), sum.cell);
  *this = CellSums();
  return cells;
}

}  // namespace tailor::query
