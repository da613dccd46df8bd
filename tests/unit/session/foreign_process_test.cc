#include "daemon/session/foreign_process.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "daemon/session/pipeline.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/scripted_input.h"

namespace tailor::session {
namespace {

// This process writes a perf map, as a runtime with a JIT does.
class ForeignProcessTest : public testing::Test {
 protected:
  ForeignProcessTest() : map("/tmp/perf-" + std::to_string(process.pid) + ".map") { script.open(); }
  ~ForeignProcessTest() override { std::remove(map.c_str()); }

  const ProcessId process{::getpid(), 1};
  std::string map;
  test::CollectingSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(ForeignProcessTest, WithoutAMapNothingIsSaid) {
  ForeignProcess foreign(os::real(), process);
  EXPECT_EQ(foreign.tell(pipeline, 10), 0u);
  EXPECT_TRUE(sink.plans.empty());
}

TEST_F(ForeignProcessTest, ItsFunctionsBecomeAPlanThatGrowsWithTheMap) {
  std::ofstream(map) << "10000 40 one\n10040 40 two\n";
  ForeignProcess foreign(os::real(), process);
  EXPECT_EQ(foreign.tell(pipeline, 10), 2u);
  EXPECT_EQ(foreign.tell(pipeline, 20), 2u);
  std::ofstream(map, std::ios::app) << "f000 40 three\n";
  EXPECT_EQ(foreign.tell(pipeline, 1000), 3u);
  EXPECT_EQ(sink.plans, (std::vector<PlanId>{1, 2}));
  script.sample(process.pid, process.pid, 500, 0x10050);
  script.sample(process.pid, process.pid, 1500, 0xf010);
  script.read();
  pipeline.flush(2000);
  ASSERT_EQ(sink.samples.size(), 2u);
  EXPECT_EQ(sink.samples[0].attribution.plan, 1u);
  EXPECT_EQ(sink.samples[1].attribution.plan, 2u);
  EXPECT_EQ(sink.accounting.at(process).messages_rejected, 0u);
}

TEST_F(ForeignProcessTest, AMapOfNonsenseSaysNothing) {
  std::ofstream(map) << " 400000 what\n\n";
  ForeignProcess foreign(os::real(), process);
  EXPECT_EQ(foreign.tell(pipeline, 10), 0u);
  EXPECT_TRUE(sink.processes.empty());
}

TEST_F(ForeignProcessTest, AMapThatIsALinkIsNotBelieved) {
  ASSERT_EQ(::symlink("/proc/self/status", map.c_str()), 0);
  ForeignProcess foreign(os::real(), process);
  EXPECT_EQ(foreign.tell(pipeline, 10), 0u);
}

}  // namespace
}  // namespace tailor::session
