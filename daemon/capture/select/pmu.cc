#include "daemon/capture/select/pmu.h"

#include <array>

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
  // Zen 5, by the models that the kernel counts as such (arch/x86/kernel/cpu/amd.c). libpfm4 4.13 has no
  // table of it; the events used here have the encodings of Zen 4 in AMD's tables of both.
  const bool zen5 = model <= 0x2F || (model >= 0x40 && model <= 0x4F) || (model >= 0x60 && model <= 0x7F);
  if (family == 0x1A) return zen5 ? "amd64_fam19h_zen4" : "";
  if (family != 0x19) return "";
  bool zen4 = (model >= 0x10 && model <= 0x1F) || model >= 0x60;
  return zen4 ? "amd64_fam19h_zen4" : "amd64_fam19h_zen3";
}

}  // namespace

std::string event_table(std::string_view vendor, unsigned family, unsigned model, unsigned stepping) {
  if (vendor == "GenuineIntel") return intel_table(family, model, stepping);
  if (vendor == "AuthenticAMD") return amd_table(family, model);
  return "";
}

// Sapphire and Emerald Rapids; hybrid hosts, which need it too, are not supported. Granite Rapids does not.
std::uint64_t load_latency_leader(std::string_view vendor, unsigned family, unsigned model) {
  constexpr std::uint64_t kMemLoadsAux = 0x8203;
  return vendor == "GenuineIntel" && family == 6 && (model == 0x8F || model == 0xCF) ? kMemLoadsAux : 0;
}

}  // namespace tailor::capture
