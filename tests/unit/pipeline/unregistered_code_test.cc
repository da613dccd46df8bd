// Samples in code that a process made by itself and that nobody registered, on both ways that samples take.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <string>
#include <vector>

#include "daemon/pipeline/pipeline.h"
#include "tailor/tag.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/engine_messages.h"
#include "tests/support/scripted_input.h"

namespace tailor::pipeline {
namespace {

// With a field of call chains samples come as events.
class UnregisteredMemory : public testing::TestWithParam<std::uint64_t> {
 protected:
  static constexpr ProcessId kEngine{42, 7}, kChild{43, 8};
  static constexpr std::uint64_t kRegistered = 0x10000, kOwn = 0x40000, kRuntime = 0x7F0000000000;
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }

  UnregisteredMemory() { script.open(); }

  // Registered, with plan 1 and its code object; the thread works for execution 9 in it.
  void start(ProcessId process = kEngine, v1::TagStrategy strategy = v1::TAGS_R15) {
    script.hello(process, static_cast<std::uint64_t>(process.pid), ms(1), "s", strategy);
    script.load(process, ms(1), test::small_plan(1));
    script.load(process, ms(1), test::small_code(11, 1, kRegistered));
    script.begin(process, ms(1), 9, 1);
    script.work(process, process.pid, ms(2), ms(900), 9, 1);
  }
  // A sample with a neighbour's tag.
  void sample(TimeNs time, std::uint64_t ip, std::int32_t pid = kEngine.pid) {
    script.sample(pid, pid, time, ip, tailor_tag_make(test::kScriptKey, 1, 1, 2, 3));
  }
  // What became of the samples: "tag 3", "code 1", or the number of the reason.
  std::vector<std::string> read() {
    script.read();
    pipeline.flush(ms(1000));
    std::vector<std::string> out;
    for (const profile::SampleRecord& each : sink.samples) {
      const profile::Attribution& a = each.attribution;
      const std::string link = std::to_string(a.link >> 1);
      const bool nobodys = a.how == profile::How::kUnattributed;
      out.push_back(nobodys ? std::to_string(static_cast<int>(a.reason))
                            : (a.how == profile::How::kCode ? "code " : "tag ") + link);
    }
    return out;
  }
  using Said = std::vector<std::string>;
  const std::string unregistered = std::to_string(static_cast<int>(profile::Reason::kUnregisteredCode));

  test::CollectingSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline, GetParam()};
};

TEST_P(UnregisteredMemory, BelongsToNoNeighbour) {
  start();
  script.map(42, ms(2), kRuntime, 0x1000, "/usr/lib/runtime.so");
  script.map(42, ms(2), kRegistered, 0x1000, "//anon");
  sample(ms(3), kOwn);  // the twin: nothing is known of that memory yet
  script.map(42, ms(4), kOwn, 0x1000, "//anon");
  sample(ms(5), kOwn);
  sample(ms(6), kRuntime);
  sample(ms(7), kRegistered + 16);
  EXPECT_EQ(read(), (Said{"tag 3", unregistered, "tag 3", "code 1"}));
  EXPECT_EQ(sink.samples[1].attribution.execution, 9u);
  EXPECT_EQ(sink.samples[1].tag, sink.samples[2].tag) << "what was in the register is kept";
  EXPECT_EQ(pipeline.total().unattributed, 1u);
}

TEST_P(UnregisteredMemory, IsNotTakenForWhatAFileIsOrWas) {
  start();
  script.map(42, ms(2), kOwn, 0x1000, "/usr/bin/engine");
  script.map(42, ms(3), kOwn, 0x1000, "//anon");  // moved to huge pages
  sample(ms(4), kOwn);
  script.map(42, ms(5), kOwn + 0x1000, 0x1000, "//anon");
  sample(ms(6), kOwn + 0x1000);
  script.map(42, ms(7), kOwn + 0x1000, 0x1000, "/tmp/plugin.so");
  sample(ms(8), kOwn + 0x1000);
  EXPECT_EQ(read(), (Said{"tag 3", unregistered, "tag 3"}));
}

TEST_P(UnregisteredMemory, ALookAtTheProcessTellsOfIt) {
  KnownProcess known{kEngine, "engine"};
  known.mappings = {{kEngine, kTimeMin, kRuntime, 0x1000, 0, "/usr/lib/runtime.so"},
                    {kEngine, kTimeMin, kOwn, 0x1000, 0, kNamelessCode}};
  pipeline.on_known_process(known);
  start();
  sample(ms(3), kOwn);
  sample(ms(3), kRuntime);
  EXPECT_EQ(read(), (Said{unregistered, "tag 3"}));
}

TEST_P(UnregisteredMemory, AnotherProgramBegins) {
  script.map(42, ms(1), kOwn, 0x1000, "//anon");
  script.executes(42, ms(2));
  script.read();
  pipeline.flush(ms(3));
  script.hello(kEngine, 5, ms(4), "next");
  script.load(kEngine, ms(4), test::small_plan(1));
  sample(ms(5), kOwn);
  EXPECT_EQ(read(), Said{"tag 3"});
}

// A child that registers by itself runs what it has from its parent, whichever is heard of first.
TEST_P(UnregisteredMemory, AForkedChildHasIt) {
  start();
  script.map(42, ms(2), kOwn, 0x1000, "//anon");
  script.forks(42, kChild.pid, ms(3));
  script.read();
  pipeline.advance(ms(300));
  script.hello(kChild, 43, ms(301));
  script.load(kChild, ms(301), test::small_plan(1));
  sample(ms(302), kOwn, kChild.pid);
  const ProcessId early{44, 9};
  script.hello(early, 44, ms(303));
  script.load(early, ms(303), test::small_plan(1));
  script.forks(42, early.pid, ms(302));
  sample(ms(304), kOwn, early.pid);
  EXPECT_EQ(read(), (Said{unregistered, unregistered}));
}

TEST_P(UnregisteredMemory, WithTagsInSlotsIsNobodysWithoutOne) {
  start(kEngine, v1::TAGS_MEMORY_SLOT);
  script.map(42, ms(2), kOwn, 0x1000, "//anon");
  sample(ms(3), kOwn);
  // No slot is among the registers of the samples.
  EXPECT_EQ(read(), Said{unregistered});
}

// That tags were left out on purpose explains shared code only.
TEST_P(UnregisteredMemory, IsNoMatterOfTagsThatWereLeftOut) {
  start();
  script.say(kEngine, ms(1), [](v1::AgentMessage& m) {
    m.mutable_execution_begin()->set_handle(10);
    m.mutable_execution_begin()->set_id(std::string(16, 'x'));
    m.mutable_execution_begin()->set_plan_id(1);
    m.mutable_execution_begin()->set_tags_off(true);
  });
  script.work(kEngine, 77, ms(2), ms(900), 10, 1);
  script.map(42, ms(2), kOwn, 0x1000, "//anon");
  script.sample(42, 77, ms(3), kOwn);
  script.sample(42, 77, ms(3), kRuntime);
  EXPECT_EQ(read(), (Said{unregistered, std::to_string(static_cast<int>(profile::Reason::kTagsOff))}));
}

INSTANTIATE_TEST_SUITE_P(BothWays, UnregisteredMemory, testing::Values(0, PERF_SAMPLE_CALLCHAIN));

}  // namespace
}  // namespace tailor::pipeline
