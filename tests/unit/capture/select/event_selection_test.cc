// The encodings of every microarchitecture, attribute by attribute, on any host.
#include "daemon/capture/select/event_selection.h"

#include <asm/perf_regs.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/capture/select/event_table.h"
#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

using testing::HasSubstr;

struct Intel {
  const char* name;
  unsigned model, stepping;
  const char* table;
  std::uint64_t prec_dist;  // INST_RETIRED:PREC_DIST moved to a fixed counter's encoding with Ice Lake
};

HostPmu host_of(const Intel& cpu) {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/" + std::to_string(cpu.model);
  pmu.table = event_table("GenuineIntel", 6, cpu.model, cpu.stepping);
  pmu.counters = true;
  pmu.max_precise = 3;
  return pmu;
}

Result<Selection> select(const std::string& name, const HostPmu& pmu, std::uint64_t hz = 1000) {
  std::vector<std::string> names = {name};
  return select_events(names, hz, pmu);
}

perf_event_attr attr_of(const EventSpec& spec, CaptureOptions options = {}) {
  if (options.events.empty()) options.events = {spec};
  return make_attr(spec, false, options, true);
}

class IntelEncodings : public testing::TestWithParam<Intel> {};

TEST_P(IntelEncodings, PaperPreset) {
  HostPmu pmu = host_of(GetParam());
  EXPECT_EQ(pmu.table, GetParam().table);
  auto selection = select("paper", pmu);
  ASSERT_TRUE(selection.ok()) << selection.error().message;
  ASSERT_EQ(selection->events.size(), 2u);
  CaptureOptions options;
  options.events = selection->events;

  perf_event_attr retired = attr_of(selection->events[0], options);
  EXPECT_EQ(retired.type, std::uint32_t{PERF_TYPE_RAW});
  EXPECT_EQ(retired.config, GetParam().prec_dist);
  EXPECT_EQ(retired.precise_ip, 3u);
  EXPECT_EQ(retired.sample_period, 5000u);
  EXPECT_EQ(retired.freq, 0u);

  perf_event_attr loads = attr_of(selection->events[1], options);
  EXPECT_EQ(loads.config, 0x81d0u);
  EXPECT_EQ(loads.precise_ip, 2u);
  EXPECT_EQ(loads.sample_period, 1000u);
  EXPECT_TRUE(loads.sample_type & PERF_SAMPLE_ADDR);
  EXPECT_TRUE(loads.sample_type & PERF_SAMPLE_DATA_SRC);
}

TEST_P(IntelEncodings, EveryPresetKeepsLargePebs) {
  for (const char* name : {"auto", "cost", "paper", "memory", "branch", "cache"}) {
    auto selection = select(name, host_of(GetParam()));
    ASSERT_TRUE(selection.ok()) << name << ": " << selection.error().message;
    for (bool all_registers : {false, true}) {
      CaptureOptions options;
      options.events = selection->events;
      options.all_registers = all_registers;
      for (const EventSpec& spec : selection->events) {
        perf_event_attr attr = attr_of(spec, options);
        if (spec.part == Part::kRest) continue;
        EXPECT_TRUE(keeps_large_pebs(attr)) << name;
        EXPECT_FALSE(attr.use_clockid) << "PEBS takes its time under perf's own clock only";
        EXPECT_TRUE(attr.exclude_kernel);
        EXPECT_TRUE(attr.sample_regs_intr >> PERF_REG_X86_R15 & 1);
        EXPECT_FALSE(attr.sample_type & PERF_SAMPLE_REGS_USER);
      }
    }
  }
}

// User mode by PEBS, and by a counter of the same event all that a PEBS record cannot tell.
TEST_P(IntelEncodings, AutoHasACounterBesidePebs) {
  auto selection = select("auto", host_of(GetParam()));
  ASSERT_TRUE(selection.ok()) << selection.error().message;
  ASSERT_EQ(selection->events.size(), 2u);
  const EventSpec &records = selection->events[0], &rest = selection->events[1];
  EXPECT_EQ(records.part, Part::kRecords);
  EXPECT_EQ(rest.part, Part::kRest);
  EXPECT_EQ(rest.mechanism, Mechanism::kCounter);
  EXPECT_EQ(rest.unit, records.unit) << "weights of one unit";
  EXPECT_EQ(source_of(rest, 3).name, source_of(records, 3).name);
  CaptureOptions options;
  options.events = selection->events;
  const perf_event_attr first = attr_of(records, options), second = attr_of(rest, options);
  EXPECT_TRUE(first.exclude_kernel);
  EXPECT_FALSE(second.exclude_kernel);
  EXPECT_FALSE(second.exclude_user);
  EXPECT_EQ(second.precise_ip, 0u);
  EXPECT_EQ(std::pair(first.type, first.config), std::pair(second.type, second.config));
  EXPECT_TRUE(second.use_clockid);
  // With a stack in every sample there is no PEBS.
  prefer_stacks(*selection);
  ASSERT_EQ(selection->events.size(), 1u);
  EXPECT_EQ(selection->events[0].mechanism, Mechanism::kCounter);
  EXPECT_EQ(selection->events[0].part, Part::kAll);
  EXPECT_THAT(selection->reasons.back(), HasSubstr("by a counter alone"));
}

TEST(Selection, AutoTwiceIsAutoOnce) {
  const std::vector<std::string> names = {"auto", "auto", "off-cpu"};
  auto selection = select_events(names, 1000, host_of({"", 0x6A, 6, "icx", 0}));
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->events.size(), 3u);
}

TEST_P(IntelEncodings, OtherPresets) {
  HostPmu pmu = host_of(GetParam());
  perf_event_attr cost = attr_of(select("cost", pmu)->events[0]);
  EXPECT_EQ(cost.type, std::uint32_t{PERF_TYPE_HARDWARE});
  EXPECT_EQ(cost.config, std::uint64_t{PERF_COUNT_HW_CPU_CYCLES});
  EXPECT_EQ(cost.precise_ip, 2u);
  EXPECT_EQ(cost.sample_period, 2'999'999u);
  EXPECT_EQ(attr_of(select("branch", pmu)->events[0]).config & 0xFF, 0xC5u);
  EXPECT_EQ(attr_of(select("cache", pmu)->events[0]).config, 0x20d1u);
}

INSTANTIATE_TEST_SUITE_P(
    SkylakeToGraniteRapids, IntelEncodings,
    testing::Values(Intel{"Skylake", 0x5E, 3, "skl", 0x1c0}, Intel{"SkylakeX", 0x55, 4, "skx", 0x1c0},
                    Intel{"CascadeLake", 0x55, 7, "clx", 0x1c0}, Intel{"IceLake", 0x7E, 5, "icl", 0x100},
                    Intel{"IceLakeX", 0x6A, 6, "icx", 0x100}, Intel{"SapphireRapids", 0x8F, 8, "spr", 0x100},
                    Intel{"EmeraldRapids", 0xCF, 2, "spr", 0x100},
                    Intel{"GraniteRapids", 0xAD, 1, "spr", 0x100}),
    [](const auto& each) { return each.param.name; });

HostPmu amd_host(unsigned family, unsigned model, bool filter) {
  HostPmu pmu;
  pmu.cpu = "AuthenticAMD " + std::to_string(family) + "/" + std::to_string(model);
  pmu.table = event_table("AuthenticAMD", family, model, 0);
  pmu.counters = true;
  pmu.ibs = IbsPmu{11, filter};
  return pmu;
}

TEST(AmdEncodings, TablesOfZen) {
  EXPECT_EQ(event_table("AuthenticAMD", 0x19, 0x01, 1), "amd64_fam19h_zen3");
  EXPECT_EQ(event_table("AuthenticAMD", 0x19, 0x11, 1), "amd64_fam19h_zen4");
  EXPECT_EQ(event_table("AuthenticAMD", 0x1A, 0x02, 1), "amd64_fam19h_zen4");
  EXPECT_EQ(event_table("AuthenticAMD", 0x1A, 0x50, 1), "");  // Zen 6
  EXPECT_EQ(event_table("AuthenticAMD", 0x17, 0x31, 1), "");
}

TEST(AmdEncodings, CostIsIbsInCycles) {
  auto selection = select("auto", amd_host(0x19, 0x01, false));
  ASSERT_TRUE(selection.ok());
  perf_event_attr attr = attr_of(selection->events[0]);
  EXPECT_EQ(attr.type, 11u);
  EXPECT_EQ(attr.config, 0u);
  EXPECT_EQ(attr.sample_period % 16, 0u);
  EXPECT_EQ(attr.exclude_kernel, 0u) << "IBS without swfilt refuses it";
  EXPECT_EQ(attr.precise_ip, 0u);
  EXPECT_TRUE(attr.use_clockid);
  EXPECT_THAT(selection->reasons[0], HasSubstr("IBS"));
}

TEST(AmdEncodings, MemoryIsIbsInOperationsWithAddresses) {
  for (unsigned family : {0x19u, 0x1Au}) {
    auto selection = select("memory", amd_host(family, 0x11, true));
    ASSERT_TRUE(selection.ok());
    perf_event_attr attr = attr_of(selection->events[0]);
    EXPECT_EQ(attr.config, std::uint64_t{1} << 19);
    EXPECT_EQ(attr.config2, 1u);
    EXPECT_EQ(attr.sample_period, 20'000u);
    EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_ADDR);
    EXPECT_TRUE(attr.sample_type & PERF_SAMPLE_DATA_SRC);
  }
}

TEST(Selection, WithoutCountersAutoIsTheTimerAndSaysWhy) {
  HostPmu pmu;
  pmu.cpu = "AuthenticAMD 26/2";
  auto selection = select("auto", pmu, 997);
  ASSERT_TRUE(selection.ok());
  EXPECT_EQ(selection->events[0].name, "cpu-clock");
  EXPECT_EQ(selection->events[0].period, prime_at_most(1'000'000'000 / 997));
  EXPECT_THAT(selection->reasons[0], HasSubstr("virtual machines"));
  for (const char* name : {"cost", "paper", "memory", "branch", "cache", "ibs_op"}) {
    auto refused = select(name, pmu);
    ASSERT_FALSE(refused.ok()) << name;
    EXPECT_THAT(refused.error().message, HasSubstr("take ")) << name;
  }
}

TEST(Selection, SeveralNamesAndPeriods) {
  std::vector<std::string> names = {"cpu-clock@250007", "faults", "off-cpu"};
  auto selection = select_events(names, 1000, HostPmu{});
  ASSERT_TRUE(selection.ok());
  ASSERT_EQ(selection->events.size(), 3u) << "the time on CPU is measured once";
  EXPECT_EQ(selection->events[0].period, 250'007u);
  EXPECT_EQ(selection->events[1].unit, profile::Unit::kEvents);
  EXPECT_TRUE(selection->context_switches);
  EXPECT_EQ(selection->events[2].unit, profile::Unit::kNsOffCpu);
  EXPECT_TRUE(attr_of(selection->events[2]).sample_type & PERF_SAMPLE_CALLCHAIN);
  for (const char* wrong : {"cpu-clock@", "cpu-clock@x", "cpu-clock@0", "no-such-event", ""}) {
    EXPECT_FALSE(select(wrong, HostPmu{}).ok()) << wrong;
  }
}

TEST(Selection, OffCpuComesWithTheBestTimeOnCpu) {
  const HostPmu precise = host_of({"", 0x6A, 6, "icx", 0});
  for (const HostPmu& pmu : {HostPmu{}, precise}) {
    auto selection = select("off-cpu", pmu);
    ASSERT_TRUE(selection.ok());
    const auto best = select("auto", pmu);
    ASSERT_EQ(selection->events.size(), 1 + best->events.size());
    EXPECT_EQ(selection->events[0].unit, profile::Unit::kNsOffCpu);
    EXPECT_EQ(selection->events[1], best->events[0]);
  }
  std::vector<std::string> names = {"off-cpu", "cost"};
  EXPECT_EQ(select_events(names, 1000, precise)->events.size(), 2u);
}

TEST(Selection, AHybridHostIsNotTakenForAVirtualMachine) {
  HostPmu pmu;
  pmu.cpu = "GenuineIntel 6/151";
  pmu.hybrid = true;
  EXPECT_THAT(select("auto", pmu)->reasons[0], HasSubstr("cpu_core and cpu_atom"));
}

TEST(Selection, CountersByName) {
  HostPmu pmu = host_of({"", 0x6A, 6, "icx", 0});
  auto loads = select("MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30:precise=2@503", pmu);
  ASSERT_TRUE(loads.ok()) << loads.error().message;
  EXPECT_EQ(loads->events[0].config, 0x1cdu);
  EXPECT_EQ(loads->events[0].config1, 0x1eu);
  EXPECT_EQ(loads->events[0].period, 503u);
  EXPECT_TRUE(loads->events[0].address);
  auto plain = select("INST_RETIRED:PREC_DIST", pmu);
  ASSERT_TRUE(plain.ok());
  EXPECT_EQ(plain->events[0].mechanism, Mechanism::kCounter);
  EXPECT_THAT(select("INST_RETIRED:NO_SUCH", pmu).error().message, HasSubstr("INST_RETIRED:NO_SUCH"));
}

TEST(LargePebs, EachReasonThatTurnsItOff) {
  auto base = attr_of(select("cost", host_of({"", 0x6A, 6, "icx", 0}))->events[0]);
  ASSERT_TRUE(keeps_large_pebs(base));
  auto off = [&](auto change) {
    perf_event_attr attr = base;
    change(attr);
    return !keeps_large_pebs(attr);
  };
  EXPECT_TRUE(off([](auto& a) { a.precise_ip = 0; }));
  EXPECT_TRUE(off([](auto& a) { a.freq = 1; }));
  EXPECT_TRUE(off([](auto& a) { a.watermark = 0, a.wakeup_events = 1; }));
  EXPECT_TRUE(off([](auto& a) { a.use_clockid = 1; }));
  EXPECT_TRUE(off([](auto& a) { a.sample_type |= PERF_SAMPLE_CALLCHAIN; }));
  EXPECT_TRUE(off([](auto& a) { a.sample_type |= PERF_SAMPLE_STACK_USER; }));
  EXPECT_TRUE(off([](auto& a) { a.sample_type |= PERF_SAMPLE_RAW; }));
  EXPECT_TRUE(off([](auto& a) { a.sample_regs_intr |= 1u << PERF_REG_X86_CS; }));
  EXPECT_TRUE(off([](auto& a) { a.sample_type |= PERF_SAMPLE_REGS_USER, a.exclude_kernel = 0; }));
  CaptureOptions options;
  options.large_pebs = false;
  const perf_event_attr one_by_one =
      attr_of(select("cost", host_of({"", 0x6A, 6, "icx", 0}))->events[0], options);
  EXPECT_FALSE(keeps_large_pebs(one_by_one));
  EXPECT_TRUE(one_by_one.use_clockid)
      << "the time is the interrupt's under any clock: ours needs no conversion";
}

TEST(Primes, AtMost) {
  EXPECT_EQ(prime_at_most(100'000), 99'991u);
  EXPECT_EQ(prime_at_most(2), 2u);
  EXPECT_EQ(prime_at_most(0), 2u);
  EXPECT_EQ(cpu_clock(10'000).period, 99'991u);
}

}  // namespace
}  // namespace tailor::capture
