// Every attribute of every event that the presets and some names give on each microarchitecture, on any host,
// against encodings.txt. A line that changes there is a change of what is recorded: look it up in the
// vendor's event tables and in the kernel's conditions before taking it over. TAILOR_WRITE_ENCODINGS=FILE
// writes them.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "daemon/capture/select/event_selection.h"

namespace tailor::capture {
namespace {

struct Machine {
  const char* name;
  const char* vendor;
  unsigned family, model, stepping;
};

constexpr Machine kMachines[] = {
    {"Skylake", "GenuineIntel", 6, 0x5E, 3},       {"SkylakeX", "GenuineIntel", 6, 0x55, 4},
    {"CascadeLake", "GenuineIntel", 6, 0x55, 7},   {"CometLake", "GenuineIntel", 6, 0xA5, 2},
    {"IceLake", "GenuineIntel", 6, 0x7E, 5},       {"IceLakeX", "GenuineIntel", 6, 0x6A, 6},
    {"TigerLake", "GenuineIntel", 6, 0x8C, 1},     {"SapphireRapids", "GenuineIntel", 6, 0x8F, 8},
    {"EmeraldRapids", "GenuineIntel", 6, 0xCF, 2}, {"GraniteRapids", "GenuineIntel", 6, 0xAD, 1},
    {"Zen3", "AuthenticAMD", 0x19, 0x01, 1},       {"Zen4", "AuthenticAMD", 0x19, 0x11, 1},
    {"Zen5", "AuthenticAMD", 0x1A, 0x02, 1},
};

HostPmu host_of(const Machine& machine) {
  HostPmu pmu;
  pmu.cpu = fmt::format("{} {}/{}", machine.vendor, machine.family, machine.model);
  pmu.table = event_table(machine.vendor, machine.family, machine.model, machine.stepping);
  pmu.load_latency_leader = load_latency_leader(machine.vendor, machine.family, machine.model);
  pmu.counters = true;
  const bool intel = pmu.cpu.starts_with("Genuine");
  pmu.max_precise = intel ? 3 : 0;
  // From Zen 4 on the kernel filters by mode itself (Linux 6.2 and newer).
  if (!intel) pmu.ibs = IbsPmu{11, machine.model != 0x01};
  return pmu;
}

std::vector<std::string> names_for(const HostPmu& pmu) {
  std::vector<std::string> names = {"auto",    "cost",      "memory",          "faults",
                                    "off-cpu", "cpu-clock", "context-switches"};
  const std::vector<std::string> intel = {"paper", "branch", "cache", "INST_RETIRED:PREC_DIST",
                                          "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30:precise=2@503"};
  const std::vector<std::string> amd = {"ibs_op", "RETIRED_INSTRUCTIONS",
                                        "RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED@9973"};
  const auto& more = pmu.ibs ? amd : intel;
  names.insert(names.end(), more.begin(), more.end());
  return names;
}

std::string line_of(const EventSpec& spec, const CaptureOptions& options) {
  const perf_event_attr a = make_attr(spec, false, options, true);
  std::string flags;
  const auto flag = [&](bool set, const char* name) { flags += set ? fmt::format(" {}", name) : ""; };
  flag(a.disabled, "disabled"), flag(a.inherit, "inherit"), flag(a.pinned, "pinned"),
      flag(a.exclusive, "exclusive");
  flag(a.exclude_user, "exclude_user"), flag(a.exclude_kernel, "exclude_kernel"),
      flag(a.exclude_hv, "exclude_hv");
  flag(a.exclude_idle, "exclude_idle"), flag(a.mmap, "mmap"), flag(a.comm, "comm"), flag(a.freq, "freq");
  flag(a.inherit_stat, "inherit_stat"), flag(a.enable_on_exec, "enable_on_exec"), flag(a.task, "task");
  flag(a.watermark, "watermark"), flag(a.sample_id_all, "sample_id_all"),
      flag(a.exclude_host, "exclude_host");
  flag(a.exclude_guest, "exclude_guest"), flag(a.use_clockid, "use_clockid"),
      flag(a.context_switch, "context_switch");
  flag(a.inherit_thread, "inherit_thread"), flag(a.sigtrap, "sigtrap"),
      flag(keeps_large_pebs(a), "=large_pebs");
  return fmt::format(
      "{} type={} config={:#x},{:#x},{:#x} precise={} period={} sample={:#x} read={:#x} regs={:#x},{:#x} "
      "branch={:#x} "
      "clock={} wakeup={}{}{}",
      spec.name, a.type, a.config, a.config1, a.config2, +a.precise_ip, a.sample_period, a.sample_type,
      a.read_format, a.sample_regs_user, a.sample_regs_intr, a.branch_sample_type, a.clockid,
      a.wakeup_watermark, flags, spec.auxiliary != 0 ? fmt::format(" leader={:#x}", spec.auxiliary) : "");
}

std::string all_encodings() {
  std::string text;
  for (const Machine& machine : kMachines) {
    const HostPmu pmu = host_of(machine);
    for (const std::string& name : names_for(pmu)) {
      const std::vector<std::string> names = {name};
      auto selection = select_events(names, 1000, pmu);
      if (!selection) {
        text += fmt::format("{} {}: {}\n", machine.name, name, selection.error().message);
        continue;
      }
      CaptureOptions options;
      options.events = selection->events;
      for (const EventSpec& spec : selection->events)
        text += fmt::format("{} {}: {}\n", machine.name, name, line_of(spec, options));
    }
  }
  return text;
}

TEST(Encodings, AreThoseOfTheTable) {
  const std::string found = all_encodings();
  if (const char* path = std::getenv("TAILOR_WRITE_ENCODINGS")) std::ofstream(path) << found;
  std::ifstream file(ENCODINGS);
  std::istringstream lines(found);
  std::string expected, line;
  while (std::getline(file, expected)) {
    ASSERT_TRUE(std::getline(lines, line)) << "missing: " << expected;
    EXPECT_EQ(line, expected);
  }
  EXPECT_FALSE(std::getline(lines, line)) << "not in the table: " << line;
}

}  // namespace
}  // namespace tailor::capture
