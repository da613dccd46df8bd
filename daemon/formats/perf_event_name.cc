#include "daemon/formats/perf_event_name.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>

namespace tailor::formats {
namespace {

// In the order of enum perf_hw_id and enum perf_sw_ids.
constexpr std::array kHardware = {
    "cycles",        "instructions", "cache-references",        "cache-misses",           "branches",
    "branch-misses", "bus-cycles",   "stalled-cycles-frontend", "stalled-cycles-backend", "ref-cycles"};
constexpr std::array kSoftware = {"cpu-clock",        "task-clock",   "page-faults",  "context-switches",
                                  "cpu-migrations",   "minor-faults", "major-faults", "alignment-faults",
                                  "emulation-faults", "dummy",        "bpf-output",   "cgroup-switches"};

}  // namespace

std::string event_name(const perf_event_attr& attr) {
  std::string name = fmt::format("{}/{:#x}", attr.type, attr.config);
  if (attr.type == PERF_TYPE_HARDWARE && attr.config < kHardware.size()) name = kHardware[attr.config];
  if (attr.type == PERF_TYPE_SOFTWARE && attr.config < kSoftware.size()) name = kSoftware[attr.config];
  if (attr.precise_ip != 0) name += ":" + std::string(attr.precise_ip, 'p');
  return name;
}

}  // namespace tailor::formats
