// What is opened for an event, against what the vendors publish of it: published_events.tsv, which
// published_events.py makes from their own tables.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "daemon/capture/select/event_selection.h"

namespace tailor::capture {
namespace {

struct Published {
  std::uint64_t code = 0, umask = 0;
  bool precise = false, address = false;
};

using Table = std::map<std::pair<std::string, std::string>, Published>;

Table read_table() {
  Table table;
  std::ifstream file(PUBLISHED_EVENTS);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string machine, name, code, umask;
    Published event;
    words >> machine >> name >> code >> umask >> event.precise >> event.address;
    event.code = std::stoull(code, nullptr, 16);
    event.umask = std::stoull(umask, nullptr, 16);
    table[{machine, name}] = event;
  }
  return table;
}

struct Machine {
  std::string name;
  unsigned model, stepping;
  bool old_branches = false;  // all branches are precise under another umask
  bool load_leader = false;   // the kernel sets PMU_FL_MEM_LOADS_AUX
};

const Machine kIntel[] = {
    {"Skylake", 0x5E, 3, true},
    {"SkylakeX", 0x55, 4, true},
    {"CascadeLake", 0x55, 7, true},
    {"CometLake", 0xA5, 2, true},
    {"IceLake", 0x7E, 5},
    {"IceLakeX", 0x6A, 6},
    {"TigerLake", 0x8C, 1},
    {"RocketLake", 0xA7, 1},
    {"SapphireRapids", 0x8F, 8, false, true},
    {"EmeraldRapids", 0xCF, 2, false, true},
    {"GraniteRapids", 0xAD, 1},
};

HostPmu host_of(const Machine& machine) {
  HostPmu pmu;
  pmu.cpu = fmt::format("GenuineIntel 6/{}", machine.model);
  pmu.table = event_table("GenuineIntel", 6, machine.model, machine.stepping);
  pmu.load_latency_leader = load_latency_leader("GenuineIntel", 6, machine.model);
  pmu.counters = true;
  pmu.max_precise = 3;
  return pmu;
}

// The one event of `name` that gives data of `code`, as it is opened.
EventSpec select(const Machine& machine, const std::string& name, std::size_t index = 0) {
  const std::vector<std::string> names = {name};
  auto selection = select_events(names, 1000, host_of(machine));
  if (!selection) {
    ADD_FAILURE() << machine.name << " " << name << ": " << selection.error().message;
    return {};
  }
  return selection->events.at(index);
}

void expect_published(const Machine& machine, const EventSpec& spec, const std::string& event) {
  static const Table table = read_table();
  const auto found = table.find({machine.name, event});
  ASSERT_NE(found, table.end()) << machine.name << " " << event;
  const Published& published = found->second;
  const std::string where = fmt::format("{} {} as {:#x}", machine.name, event, spec.config);
  EXPECT_EQ(spec.config & 0xFF, published.code) << where;
  EXPECT_EQ(spec.config >> 8 & 0xFF, published.umask) << where;
  if (spec.precise_ip > 0) {
    EXPECT_TRUE(published.precise) << where;
  }
  if (spec.address) {
    EXPECT_TRUE(published.address) << where;
  }
}

TEST(PublishedEvents, PresetsAreWhatIntelPublishes) {
  for (const Machine& machine : kIntel) {
    expect_published(machine, select(machine, "memory"), "MEM_INST_RETIRED.ALL_LOADS");
    expect_published(machine, select(machine, "cache"), "MEM_LOAD_RETIRED.L3_MISS");
    expect_published(machine, select(machine, "paper"), "INST_RETIRED.PREC_DIST");
    expect_published(machine, select(machine, "paper", 1), "MEM_INST_RETIRED.ALL_LOADS");
    const std::string pebs = machine.old_branches ? "_PEBS" : "";
    expect_published(machine, select(machine, "branch"), "BR_MISP_RETIRED.ALL_BRANCHES" + pebs);
  }
}

TEST(PublishedEvents, NamedEventsArePreciseWhereTheyAskForIt) {
  for (const Machine& machine : kIntel) {
    const std::string pebs = machine.old_branches ? "_PEBS" : "";
    expect_published(machine, select(machine, "BR_INST_RETIRED:ALL_BRANCHES:precise=2"),
                     "BR_INST_RETIRED.ALL_BRANCHES" + pebs);
    expect_published(machine, select(machine, "BR_MISP_RETIRED:ALL_BRANCHES"),
                     "BR_MISP_RETIRED.ALL_BRANCHES");
  }
}

// The kernel refuses the event without that leader, and needs none elsewhere.
TEST(PublishedEvents, LoadLatencyHasItsLeaderWhereTheKernelWantsOne) {
  for (const Machine& machine : kIntel) {
    const EventSpec spec = select(machine, "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=32:precise=2@1009");
    expect_published(machine, spec, "MEM_TRANS_RETIRED.LOAD_LATENCY_GT_32");
    EXPECT_EQ(spec.config1, 32u) << machine.name;
    EXPECT_EQ(spec.auxiliary, machine.load_leader ? 0x8203u : 0u) << machine.name;
    EXPECT_EQ(select(machine, "memory").auxiliary, 0u);
  }
}

TEST(PublishedEvents, CountersOfZenAreWhatAmdPublishes) {
  struct Zen {
    const char* name;
    unsigned family, model;
  };
  for (const Zen& zen : {Zen{"Zen3", 0x19, 0x01}, Zen{"Zen4", 0x19, 0x11}, Zen{"Zen5", 0x1A, 0x02},
                         Zen{"Zen5", 0x1A, 0x44}, Zen{"Zen5", 0x1A, 0x70}}) {
    HostPmu pmu;
    pmu.cpu = fmt::format("AuthenticAMD {}/{}", zen.family, zen.model);
    pmu.table = event_table("AuthenticAMD", zen.family, zen.model, 1);
    pmu.counters = true;
    const Machine machine{zen.name, zen.model, 1};
    for (const auto& [ours, theirs] : {std::pair{"RETIRED_INSTRUCTIONS", "ex_ret_instr"},
                                       {"RETIRED_BRANCH_INSTRUCTIONS_MISPREDICTED", "ex_ret_brn_misp"}}) {
      const std::vector<std::string> names = {ours};
      auto selection = select_events(names, 1000, pmu);
      ASSERT_TRUE(selection.ok()) << selection.error().message;
      expect_published(machine, selection->events.front(), theirs);
    }
  }
}

}  // namespace
}  // namespace tailor::capture
