#include "daemon/capture/host/host_pmu.h"

#include <gtest/gtest.h>

#include "tests/support/fake_os.h"

namespace tailor::capture {
namespace {

TEST(ProbePmu, ReadsProcAndSys) {
  test::FakeOs os;
  os.proc_files().write("cpuinfo",
                        "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\n"
                        "model name\t: X\nstepping\t: 8\n\nprocessor\t: 1\nmodel\t\t: 1\n");
  os.sys_files().write("bus/event_source/devices/cpu/type", "4\n");
  os.sys_files().write("bus/event_source/devices/cpu/caps/max_precise", "3\n");
  HostPmu pmu = probe_pmu(os);
  EXPECT_EQ(pmu.table, "spr");
  EXPECT_EQ(pmu.max_precise, 3u);
  EXPECT_FALSE(pmu.ibs);
  os.sys_files().write("bus/event_source/devices/ibs_op/type", "11\n");
  EXPECT_EQ(probe_pmu(os).ibs, (IbsPmu{11, false}));
  os.sys_files().write("bus/event_source/devices/ibs_op/format/swfilt", "config2:0\n");
  EXPECT_EQ(probe_pmu(os).ibs, (IbsPmu{11, true}));
  test::FakeOs hybrid;
  hybrid.sys_files().write("bus/event_source/devices/cpu_core/type", "4\n");
  EXPECT_TRUE(probe_pmu(hybrid).hybrid);
  test::FakeOs empty;
  EXPECT_FALSE(probe_pmu(empty).counters);
  EXPECT_FALSE(probe_pmu(empty).hybrid);
}

}  // namespace
}  // namespace tailor::capture
