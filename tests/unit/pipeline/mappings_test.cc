// Which of the kernel's records of memory a profile is told, and with what time.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

class MappingSink : public test::CollectingSink {
 public:
  void on_mapping(const profile::MappingRecord& mapping) override { mappings.push_back(mapping); }
  void on_process(const profile::ProcessRecord& process) override { last = process; }
  std::vector<profile::MappingRecord> mappings;
  profile::ProcessRecord last;
};

class Mappings : public testing::Test {
 protected:
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }
  explicit Mappings(PipelineOptions options = {}) : pipeline(sink, options) { script.open(42); }

  void map(std::int32_t pid, TimeNs time, std::uint64_t begin, std::uint64_t size, const std::string& path,
           std::uint32_t protection = PROT_READ | PROT_EXEC) {
    script.map(pid, time, begin, size, path, protection);
  }
  void executes(std::int32_t pid, TimeNs time) { script.executes(pid, time); }
  void forks(std::int32_t parent, std::int32_t child, TimeNs time) { script.forks(parent, child, time); }
  void read() {
    script.read();
    pipeline.flush(ms(1'000'000));
  }
  // "milliseconds path begin" of what was told.
  std::vector<std::string> told() const {
    std::vector<std::string> out;
    for (const profile::MappingRecord& each : sink.mappings)
      out.push_back(std::to_string(each.time == kTimeMin ? -1 : each.time / ms(1)) + " " + each.path + " " +
                    std::to_string(each.begin / 0x1000));
    return out;
  }
  using Told = std::vector<std::string>;

  MappingSink sink;
  Pipeline pipeline;
  test::ScriptedInput script{pipeline};
};

TEST_F(Mappings, FilesAndWhatTakesTheirPlaceAreTold) {
  map(42, ms(1), 0x1000, 0x2000, "/tmp/a.so");
  map(42, ms(2), 0x1000, 0x1000, "/tmp/a.so");  // a change of protection of a page
  map(42, ms(3), 0x9000, 0x1000, "//anon");     // never was a file's
  map(42, ms(4), 0x2000, 0x4000, "//anon");
  map(42, ms(5), 0x2000, 0x8000, "//anon");             // growth
  map(42, ms(6), 0x1000, 0x1000, "/tmp/b", PROT_READ);  // no code
  map(42, ms(7), 0x1000, 0x1000, "/tmp/b.so");
  read();
  EXPECT_EQ(told(), (Told{"1 /tmp/a.so 1", "4 //anon 2", "7 /tmp/b.so 1"}));
}

TEST_F(Mappings, AProgramThatIsExecutedEndsThemAll) {
  map(42, ms(1), 0x1000, 0x2000, "/tmp/a.so");
  forks(42, 43, ms(2));
  map(43, ms(3), 0x1000, 0x2000, "/tmp/a.so");  // it has that from its parent
  executes(43, ms(4));
  map(43, ms(5), 0x1000, 0x2000, "/tmp/a.so");
  script.sample(43, 43, ms(6), 0x1000);
  read();
  EXPECT_EQ(told(), (Told{"1 /tmp/a.so 1", "4  0", "5 /tmp/a.so 1"}));
  EXPECT_EQ(sink.last.parent.pid, 42) << "what it did before is its parent's code";
}

// A second look, after a pause, counts from then on; records that are older are still on their way.
TEST_F(Mappings, ALaterLookSaysWhatIsThereNow) {
  KnownProcess known{{42, 7}, "engine"};
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"},
                    {{42, 7}, kTimeMin, 0x5000, 0x1000, 0, "/tmp/a.so"}};
  pipeline.on_known_process(known);
  pipeline.advance(ms(100));
  map(42, ms(90), 0x7000, 0x1000, "/tmp/between.so");
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"},
                    {{42, 7}, kTimeMin, 0x6000, 0x1000, 0, "/tmp/b.so"},
                    {{42, 7}, kTimeMin, 0x7000, 0x1000, 0, "/tmp/between.so"}};
  pipeline.on_known_process(known);
  read();
  EXPECT_EQ(told(), (Told{"-1 /bin/engine 1", "-1 /tmp/a.so 5", "90 /tmp/between.so 7", "100 //anon 5",
                          "100 /tmp/b.so 6"}));
}

// What it saw may be older than what was mapped since, which records have told already.
TEST_F(Mappings, ALookThatTookLongEndsNothingThatIsNewer) {
  KnownProcess known{{42, 7}, "engine"};
  pipeline.on_known_process(known);
  map(42, ms(90), 0x5000, 0x1000, "/tmp/new.so");
  script.read();
  pipeline.flush(ms(100));
  known.since = ms(50);
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"},
                    {{42, 7}, kTimeMin, 0x5000, 0x1000, 0, "/tmp/old.so"}};
  pipeline.on_known_process(known);
  map(42, ms(2000), 0x5000, 0x1000, "/tmp/new.so");  // only its protection has changed
  read();
  EXPECT_EQ(told(), (Told{"90 /tmp/new.so 5", "50 /bin/engine 1", "50 /tmp/old.so 5"}));
}

// The first look is told by whoever knows the configuration, later ones are not.
TEST_F(Mappings, ALaterLookKeepsTheRuleFileOfTheProcess) {
  KnownProcess known{{42, 7}, "engine"};
  known.rules = "duckdb";
  pipeline.on_known_process(known);
  known.rules.clear();
  pipeline.on_known_process(known);
  script.sample(42, 42, ms(6), 0x1000);
  read();
  EXPECT_EQ(sink.last.rules, "duckdb");
}

// All of a later look is taken at once, when its last part is there: what no part has is gone.
TEST_F(Mappings, ALaterLookInPartsIsOne) {
  KnownProcess known{{42, 7}, "engine"};
  known.more = true;
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"}};
  pipeline.on_known_process(known);
  known.more = false;
  known.mappings = {{{42, 7}, kTimeMin, 0x5000, 0x1000, 0, "/tmp/a.so"}};
  pipeline.on_known_process(known);
  EXPECT_EQ(told(), (Told{"-1 /bin/engine 1", "-1 /tmp/a.so 5"})) << "the first";
  known.since = ms(50);
  known.more = true;
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"}};
  pipeline.on_known_process(known);
  pipeline.flush(ms(60));
  known.more = false;
  known.mappings = {{{42, 7}, kTimeMin, 0x7000, 0x1000, 0, "/tmp/c.so"}};
  pipeline.on_known_process(known);
  read();
  EXPECT_EQ(told(), (Told{"-1 /bin/engine 1", "-1 /tmp/a.so 5", "50 //anon 5", "50 /tmp/c.so 7"}));
}

// Records of other processes may have filled a ring that all share. No sample is lost with them.
TEST_F(Mappings, WhatASharedRingLostIsLookedAtAgain) {
  script.open(42, capture::RecordClock::kMonotonicRaw, true);
  KnownProcess known{{42, 7}, "engine"};
  pipeline.on_known_process(known);
  map(42, ms(3), 0x1000, 0x1000, "/tmp/before.so");
  for (int i = 0; i < 3; ++i)
    script.record(test::RecordBytes(PERF_RECORD_LOST, 0).u64(0).u64(30'000), 42, ms(5) + i);
  read();
  const auto lost = pipeline.take_lost_maps();
  ASSERT_EQ(lost.size(), 1u);
  EXPECT_EQ(lost[0].process.pid, 42);
  EXPECT_EQ(lost[0].time, ms(3)) << "what was lost is newer than this";
  EXPECT_TRUE(pipeline.take_lost_maps().empty());
  EXPECT_EQ(pipeline.total().lost_ring, 0u);
}

class FewMappings : public Mappings {
 protected:
  static PipelineOptions few() {
    PipelineOptions options;
    options.limits.mappings = 3;
    return options;
  }
  FewMappings() : Mappings(few()) {}
};

// A process that makes records get lost makes looks. They must not use up what a process may be told of.
TEST_F(FewMappings, LooksTellNothingTwice) {
  KnownProcess known{{42, 7}, "engine"};
  known.mappings = {{{42, 7}, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"},
                    {{42, 7}, kTimeMin, 0x5000, 0x1000, 0, "/tmp/a.so"}};
  pipeline.on_known_process(known);
  map(42, ms(90), 0x9000, 0x1000, "//anon");
  script.read();
  pipeline.flush(ms(100));
  for (int i = 0; i < 5; ++i) {
    known.since = ms(50);
    pipeline.on_known_process(known);
    pipeline.flush(ms(110 + i));
  }
  EXPECT_EQ(told(), (Told{"-1 /bin/engine 1", "-1 /tmp/a.so 5"}));
}

// The last one that is told must not own its addresses for good.
TEST_F(FewMappings, BeyondTheLimitNothingIsKnown) {
  for (int i = 0; i < 6; ++i) map(42, ms(1) + i, 0x1000, 0x1000, "/tmp/" + std::to_string(i));
  read();
  EXPECT_EQ(told(), (Told{"1 /tmp/0 1", "1 /tmp/1 1", "1 /tmp/2 1", "1 [too many mappings] 0"}));
}

// The new program's files are known again, as far as there is room; what was inherited has ended.
TEST_F(FewMappings, AnExecutedProgramBeginsAnew) {
  for (int i = 0; i < 6; ++i) map(42, ms(1) + i, 0x1000, 0x1000, "/tmp/" + std::to_string(i));
  executes(42, ms(2));
  map(42, ms(3), 0x1000, 0x1000, "/tmp/unknown");
  executes(42, ms(201));
  map(42, ms(202), 0x1000, 0x1000, "/tmp/known");
  read();
  EXPECT_EQ(told(), (Told{"1 /tmp/0 1", "1 /tmp/1 1", "1 /tmp/2 1", "1 [too many mappings] 0", "201  0",
                          "202 /tmp/known 1"}));
}

TEST_F(FewMappings, AProgramThatIsExecutedWithoutRoomEndsWhatWasInherited) {
  for (int i = 0; i < 3; ++i) map(42, ms(1) + i, 0x1000, 0x1000, "/tmp/" + std::to_string(i));
  executes(42, ms(2));
  executes(42, ms(3));
  read();
  EXPECT_EQ(told(), (Told{"1 /tmp/0 1", "1 /tmp/1 1", "1 /tmp/2 1", "2  0", "2 [too many mappings] 0"}));
}

TEST_F(FewMappings, ALongLifeMayHaveMore) {
  for (int i = 0; i < 40; ++i) map(42, ms(1) + i * ms(50), 0x1000, 0x1000, "/tmp/" + std::to_string(i));
  read();
  EXPECT_EQ(sink.mappings.size(), 40u);
}

}  // namespace
}  // namespace tailor::pipeline
