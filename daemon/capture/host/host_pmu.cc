#include "daemon/capture/host/host_pmu.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "daemon/os/host_files.h"

namespace tailor::capture {
namespace {

// The first line "name : value" of /proc/cpuinfo.
std::string cpuinfo_field(std::string_view cpuinfo, std::string_view name) {
  while (!cpuinfo.empty()) {
    std::string_view line = cpuinfo.substr(0, cpuinfo.find('\n'));
    cpuinfo.remove_prefix(std::min(cpuinfo.size(), line.size() + 1));
    std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    std::string_view key = line.substr(0, colon);
    key = key.substr(0, key.find_last_not_of(" \t") + 1);
    if (key != name) continue;
    std::string_view value = line.substr(colon + 1);
    std::size_t first = value.find_first_not_of(" \t");
    return std::string(first == std::string_view::npos ? "" : value.substr(first));
  }
  return "";
}

unsigned number(const std::string& text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::optional<IbsPmu> probe_ibs(const std::filesystem::path& devices) {
  auto type = os::read_number(devices / "ibs_op/type");
  if (!type || *type < 0) return std::nullopt;
  std::error_code ignored;
  return IbsPmu{static_cast<std::uint32_t>(*type),
                std::filesystem::exists(devices / "ibs_op/format/swfilt", ignored)};
}

}  // namespace

HostPmu probe_pmu(const os::Os& os) {
  HostPmu pmu;
  auto cpuinfo = os::read_text(os.proc() / "cpuinfo", 64 << 20);
  std::string_view text = cpuinfo ? std::string_view(*cpuinfo) : std::string_view();
  std::string vendor = cpuinfo_field(text, "vendor_id");
  unsigned family = number(cpuinfo_field(text, "cpu family"));
  unsigned model = number(cpuinfo_field(text, "model"));
  pmu.cpu = fmt::format("{} {}/{}", vendor, family, model);
  pmu.load_latency_leader = load_latency_leader(vendor, family, model);
  pmu.table = event_table(vendor, family, model, number(cpuinfo_field(text, "stepping")));
  auto devices = os.sys() / "bus/event_source/devices";
  std::error_code ignored;
  pmu.counters = std::filesystem::exists(devices / "cpu/type", ignored);
  pmu.hybrid = std::filesystem::exists(devices / "cpu_core/type", ignored);
  auto precise = os::read_number(devices / "cpu/caps/max_precise");
  pmu.max_precise = precise && *precise > 0 ? static_cast<unsigned>(*precise) : 0;
  pmu.ibs = probe_ibs(devices);
  return pmu;
}

}  // namespace tailor::capture
