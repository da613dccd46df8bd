#include "daemon/capture/host_pmu.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "daemon/os/host_files.h"

namespace tailor::capture {
namespace {

struct IntelModel {
  unsigned model;
  const char* table;
};

// Family 6; Comet Lake counts as Skylake, Tiger and Rocket Lake as Ice Lake. Cascade Lake is Skylake-X from
// stepping 5. Emerald and Granite Rapids keep Sapphire Rapids' encodings of the retired-instruction and
// memory events (Intel SDM volume 3, chapter 20; perfmon tables).
constexpr std::array kIntel = {
    IntelModel{0x4E, "skl"}, IntelModel{0x5E, "skl"}, IntelModel{0x8E, "skl"}, IntelModel{0x9E, "skl"},
    IntelModel{0x55, "skx"}, IntelModel{0x7D, "icl"}, IntelModel{0x7E, "icl"}, IntelModel{0x9D, "icl"},
    IntelModel{0xA7, "icl"}, IntelModel{0x6A, "icx"}, IntelModel{0x6C, "icx"}, IntelModel{0x8F, "spr"},
    IntelModel{0xCF, "spr"}, IntelModel{0xAD, "spr"}, IntelModel{0xAE, "spr"}, IntelModel{0xA5, "skl"},
    IntelModel{0xA6, "skl"}, IntelModel{0x8C, "icl"}, IntelModel{0x8D, "icl"},
};

std::string intel_table(unsigned family, unsigned model, unsigned stepping) {
  if (family != 6) return "";
  for (const IntelModel& each : kIntel) {
    if (each.model == model) return model == 0x55 && stepping >= 5 ? "clx" : each.table;
  }
  return "";
}

std::string amd_table(unsigned family, unsigned model) {
  if (family == 0x1A) return "amd64_fam19h_zen4";  // Zen 5: the events used here did not move
  if (family != 0x19) return "";
  bool zen4 = (model >= 0x10 && model <= 0x1F) || model >= 0x60;
  return zen4 ? "amd64_fam19h_zen4" : "amd64_fam19h_zen3";
}

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

std::string event_table(std::string_view vendor, unsigned family, unsigned model, unsigned stepping) {
  if (vendor == "GenuineIntel") return intel_table(family, model, stepping);
  if (vendor == "AuthenticAMD") return amd_table(family, model);
  return "";
}

HostPmu probe_pmu(const os::Os& os) {
  HostPmu pmu;
  auto cpuinfo = os::read_text(os.proc() / "cpuinfo", 64 << 20);
  std::string_view text = cpuinfo ? std::string_view(*cpuinfo) : std::string_view();
  std::string vendor = cpuinfo_field(text, "vendor_id");
  unsigned family = number(cpuinfo_field(text, "cpu family"));
  unsigned model = number(cpuinfo_field(text, "model"));
  pmu.cpu = fmt::format("{} {}/{}", vendor, family, model);
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
