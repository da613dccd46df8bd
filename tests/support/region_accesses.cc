#include "tests/support/region_accesses.h"

#include <linux/perf_event.h>

#include <array>
#include <vector>

#include "tests/support/sample_profile.h"

namespace tailor::test {
namespace {

constexpr std::uint32_t kColumn = 5, kHashTable = 6;
constexpr std::uint64_t kColumnBase = 0x10000, kColumnSize = 80'000;
constexpr std::uint64_t kTableBase = 0x80000, kTableSize = 65'536;
constexpr std::uint32_t kRoleColumn = 1, kRoleHashTable = 2;  // enum tailor_region_role

void declare(profile::ProfileSink& sink, std::uint32_t id, const char* name, std::uint32_t role) {
  v1::RegionKind kind;
  kind.set_id(id);
  kind.set_name(name);
  kind.set_role(role);
  sink.on_region_kind(kSampleProcess, kind);
}

profile::SampleRecord access(TimeNs time, std::uint32_t ir, std::uint64_t address, std::uint32_t region) {
  profile::SampleRecord sample = ir_sample(time, ir);
  sample.address_from = profile::AddressFrom::kSample;
  sample.address = address;
  sample.region = region;
  perf_mem_data_src from{};
  from.mem_lvl_num = region == kColumn ? PERF_MEM_LVLNUM_L1 : PERF_MEM_LVLNUM_RAM;
  sample.data_source = from.val;
  sample.latency = region == kColumn ? 5 : 250;
  return sample;
}

}  // namespace

void give_region_accesses(profile::ProfileSink& sink) {
  give_context(sink);
  declare(sink, kColumn, "l_orderkey", kRoleColumn);
  declare(sink, kHashTable, "orders", kRoleHashTable);
  const std::array<profile::ActivityRecord, 2> regions = {
      {{kSampleStart, kSampleProcess, 4243, TAILOR_LOG_REGION_ADD, kColumn, kColumnBase, kColumnSize},
       {kSampleStart, kSampleProcess, 4243, TAILOR_LOG_REGION_ADD, kHashTable, kTableBase, kTableSize}}};
  sink.on_activity(regions);
  std::vector<profile::SampleRecord> samples;
  TimeNs time = kSampleStart;
  std::uint64_t hash = 1;
  for (std::uint64_t i = 0; i < 128; ++i) {
    constexpr std::uint32_t kScanLineitem = 4, kBuild = 3;  // lines of the IR
    samples.push_back(access(time += 1'000'000, kScanLineitem, kColumnBase + i * 624, kColumn));
    hash = hash * 6364136223846793005u + 1442695040888963407u;
    samples.push_back(access(time += 1'000'000, kBuild, kTableBase + (hash >> 40) % kTableSize, kHashTable));
  }
  sink.on_samples(samples);
  sink.on_watermark(time);
}

}  // namespace tailor::test
