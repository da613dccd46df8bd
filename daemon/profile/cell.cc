#include "daemon/profile/cell.h"

#include <linux/perf_event.h>

namespace tailor::profile {

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

CellKey key_of(const SampleRecord& s) {
  const Attribution& a = s.attribution;
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
  if (s.wait == Wait::kNone) {
    key.region = s.region;
  } else {
    key.engine_wait = s.engine_wait;  // a wait has no data address
  }
  return key;
}

std::uint64_t data_source_of(MemoryLevel level) {
  perf_mem_data_src source{};
  switch (level) {
    case MemoryLevel::kUnknown:
      break;
    case MemoryLevel::kL1:
      source.mem_lvl_num = PERF_MEM_LVLNUM_L1;
      break;
    case MemoryLevel::kFillBuffer:
      source.mem_lvl_num = PERF_MEM_LVLNUM_LFB;
      break;
    case MemoryLevel::kL2:
      source.mem_lvl_num = PERF_MEM_LVLNUM_L2;
      break;
    case MemoryLevel::kL3:
      source.mem_lvl_num = PERF_MEM_LVLNUM_L3;
      break;
    case MemoryLevel::kRam:
      source.mem_lvl_num = PERF_MEM_LVLNUM_RAM;
      break;
    case MemoryLevel::kRemote:
      source.mem_remote = 1;
      break;
    case MemoryLevel::kOther:
      source.mem_lvl = PERF_MEM_LVL_UNC;
      break;
  }
  return source.val;
}

SampleRecord sample_of(const CellKey& key) {
  SampleRecord s;
  s.process = key.process;
  s.source = key.source;
  s.wait = key.wait;
  s.engine_wait = key.engine_wait;
  s.address_from = key.address_from;
  s.skid = key.skid;
  s.region = key.region;
  s.data_source = data_source_of(key.served_by);
  Attribution& a = s.attribution;
  a.how = key.how;
  a.reason = key.reason;
  a.quality = key.quality;
  a.kernel = key.kernel;
  a.pipeline = key.pipeline;
  a.level = key.level;
  a.link = key.link;
  a.engine_component = key.engine_component;
  a.plan = key.plan;
  a.code = key.code;
  a.execution = key.execution;
  return s;
}

PlaceKey place_of(const SampleRecord& s) {
  const Attribution& a = s.attribution;
  const bool user = s.mode == Mode::kUser;
  return {s.process, a.execution, s.source, a.reason, a.kernel, user ? s.ip : s.user_ip};
}

SampleRecord sample_of(const PlaceKey& place) {
  SampleRecord s;
  s.process = place.process;
  s.source = place.source;
  s.ip = s.user_ip = place.address;
  s.attribution.reason = place.reason;
  s.attribution.kernel = place.kernel;
  s.attribution.execution = place.execution;
  return s;
}

void Sum::add(const Sum& other) {
  add_bounded(samples, other.samples);
  add_bounded(weight, other.weight);
  add_bounded(weight_squares, other.weight_squares);
  add_bounded(latency, other.latency);
  add_bounded(latency_samples, other.latency_samples);
}

Cell cell_of(const Sum& sum) {
  return {sum.samples, static_cast<double>(sum.weight), static_cast<double>(sum.weight_squares),
          static_cast<double>(sum.latency), sum.latency_samples};
}

}  // namespace tailor::profile
