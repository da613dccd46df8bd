// A child has the code of those it was forked off, also where these were never sampled themselves.
#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <cstdint>
#include <map>
#include <string>

#include "daemon/pipeline/untold_parents.h"
#include "daemon/query/code/code_timelines.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

class InheritedCodeSink : public test::CollectingSink {
 public:
  void on_process(const profile::ProcessRecord& process) override {
    CollectingSink::on_process(process);
    ++told[process.process];
    timelines.on_process(process);
  }
  void on_code(ProcessId process, TimeNs time, const v1::CodeObject& code) override {
    timelines.on_code(process, time, code.id(), code.base(), code.code().size());
  }
  void on_mapping(const profile::MappingRecord& mapping) override { timelines.on_mapping(mapping); }
  std::map<ProcessId, int> told;
  query::CodeTimelines timelines;
};

class InheritedCode : public testing::Test {
 protected:
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }
  static constexpr ProcessId kEngine{42, 7}, kShell{60, 0}, kChild{61, 0}, kNamed{70, 9}, kOrphan{71, 9};
  static constexpr std::uint64_t kCode = 0x10000;

  // The engine speaks, and is never sampled.
  InheritedCode() {
    script.open();
    script.hello(kEngine, 1, ms(1));
    script.load(kEngine, ms(1), test::small_plan(1));
    script.load(kEngine, ms(1), test::small_code(11, 1, kCode));
  }

  void exits(std::int32_t pid, TimeNs time) {
    const auto number = static_cast<std::uint32_t>(pid);
    script.record(test::RecordBytes(PERF_RECORD_EXIT, 0)
                      .u32(number)
                      .u32(1)
                      .u32(number)
                      .u32(1)
                      .u64(static_cast<std::uint64_t>(time)),
                  pid, time);
  }
  void sample(std::int32_t pid, TimeNs time) { script.sample(pid, pid, time, kCode + 16); }
  void flush(TimeNs time) {
    script.read();
    pipeline.flush(time);
  }
  // By reports. 0: nobody's.
  CodeId code_of(ProcessId process, TimeNs time) {
    const auto found = sink.timelines.find(process, kCode + 16, time);
    return found.of_code == kEngine ? found.state.code : 0;
  }

  // "" none.
  std::string file_of(ProcessId process, std::uint64_t address, TimeNs time) {
    const query::MappedCode mapped = sink.timelines.find(process, address, time).state.mapped;
    return mapped.kind == query::MappedCode::Kind::kFile ? sink.timelines.files().at(mapped.file).path : "";
  }

  InheritedCodeSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(InheritedCode, ComesThroughAProcessThatWasNeverSampled) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kChild.pid, ms(6));
  sample(kChild.pid, ms(7));
  flush(ms(10));
  EXPECT_EQ(sink.processes.at(kChild).parent, kShell);
  EXPECT_EQ(sink.processes.at(kShell).parent, kEngine);
  EXPECT_EQ(sink.processes.at(kShell).first_seen, ms(6)) << "when it forked";
  EXPECT_EQ(code_of(kChild, ms(7)), 11u);
}

// Twin: where parents are told only while they are known, the child has nobody's code.
TEST_F(InheritedCode, ComesThroughOneThatIsForgotten) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kChild.pid, ms(6));
  exits(kShell.pid, ms(7));
  flush(ms(10));
  flush(ms(3000));
  ASSERT_EQ(pipeline.stats().processes, 2u) << "the engine, and the child";
  sample(kChild.pid, ms(3001));
  flush(ms(3100));
  EXPECT_EQ(code_of(kChild, ms(3001)), 11u);
}

// An agent may speak before the first sample, and its process is told then.
TEST_F(InheritedCode, ComesWhereTheChildSpeaksFirst) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kChild.pid, ms(6));
  flush(ms(10));
  script.hello(kChild, 2, ms(20), "s2");
  sample(kChild.pid, ms(21));
  flush(ms(30));
  EXPECT_EQ(code_of(kChild, ms(21)), 11u);
}

// Its agent is faster than the record of the fork, which says whose code it has. Twin: without that record
// the code is nobody's.
TEST_F(InheritedCode, ComesWhereTheChildIsKnownBeforeItsFork) {
  script.hello(kNamed, 2, ms(6), "s2");
  sample(kNamed.pid, ms(7));
  script.hello(kOrphan, 3, ms(6), "s3");
  sample(kOrphan.pid, ms(7));
  script.forks(kEngine.pid, kNamed.pid, ms(5));
  flush(ms(10));
  EXPECT_EQ(sink.processes.at(kNamed).parent, kEngine);
  EXPECT_EQ(sink.processes.at(kNamed).forked, ms(5));
  EXPECT_EQ(code_of(kNamed, ms(7)), 11u);
  EXPECT_EQ(code_of(kOrphan, ms(7)), 0u);
}

TEST_F(InheritedCode, ComesThroughAShellToAChildThatIsKnownBeforeItsFork) {
  script.hello(kNamed, 2, ms(7), "s2");
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kNamed.pid, ms(6));
  sample(kNamed.pid, ms(8));
  flush(ms(10));
  EXPECT_EQ(sink.processes.at(kNamed).parent, kShell);
  EXPECT_EQ(code_of(kNamed, ms(8)), 11u);
}

// Its agent speaks when the fork is long known, by the number alone.
TEST_F(InheritedCode, StaysWhenTheChildGetsItsStartTime) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kNamed.pid, ms(6));
  flush(ms(10));
  script.hello(kNamed, 2, ms(20), "s2");
  sample(kNamed.pid, ms(21));
  flush(ms(30));
  EXPECT_EQ(sink.processes.at(kNamed).parent, kShell);
  EXPECT_EQ(sink.processes.at(kNamed).forked, ms(6));
  EXPECT_EQ(code_of(kNamed, ms(21)), 11u);
}

// Its files are told by the number alone where its agent speaks late. Twin: nobody's code is at the same
// place in a process that was told of nothing.
TEST_F(InheritedCode, HasWhatWasToldOfItByTheNumber) {
  script.forks(kEngine.pid, kNamed.pid, ms(5));
  script.executes(kNamed.pid, ms(6));
  script.map(kNamed.pid, ms(7), kCode, 0x1000, "/lib/first");
  script.map(kNamed.pid, ms(7), kCode + 0x1000, 0x1000, "/lib/other");
  sample(kNamed.pid, ms(8));
  flush(ms(10));
  script.hello(kNamed, 2, ms(20), "s2");
  script.hello(kOrphan, 3, ms(20), "s3");
  script.map(kNamed.pid, ms(15), kCode, 0x1000, "/lib/second");
  for (const TimeNs time : {ms(14), ms(16), ms(21)}) {
    sample(kNamed.pid, time);
    sample(kOrphan.pid, time);
  }
  flush(ms(30));
  EXPECT_EQ(file_of(kNamed, kCode, ms(14)), "/lib/first");
  EXPECT_EQ(file_of(kNamed, kCode, ms(16)), "/lib/second") << "before its agent spoke";
  EXPECT_EQ(file_of(kNamed, kCode, ms(21)), "/lib/second");
  EXPECT_EQ(file_of(kNamed, kCode + 0x1000, ms(21)), "/lib/other");
  EXPECT_EQ(file_of(kOrphan, kCode, ms(21)), "");
}

TEST_F(InheritedCode, EndsWithTheProgramOfTheChild) {
  script.hello(kNamed, 2, ms(9), "s2");
  script.forks(kEngine.pid, kNamed.pid, ms(5));
  script.executes(kNamed.pid, ms(7));
  sample(kNamed.pid, ms(6));
  sample(kNamed.pid, ms(8));
  flush(ms(10));
  EXPECT_EQ(code_of(kNamed, ms(6)), 11u);
  EXPECT_EQ(code_of(kNamed, ms(8)), 0u);
  script.forks(kEngine.pid, kOrphan.pid, ms(11));
  script.executes(kOrphan.pid, ms(12));
  flush(ms(15));
  script.hello(kOrphan, 3, ms(20), "s3");
  sample(kOrphan.pid, ms(21));
  flush(ms(30));
  EXPECT_EQ(code_of(kOrphan, ms(21)), 0u) << "what it executed before it had a name";
}

// A process that was never seen had the number before.
TEST_F(InheritedCode, IsNotThatOfAnEarlierProcessOfTheNumber) {
  constexpr ProcessId kOther{43, 8};
  script.hello(kOther, 2, ms(1), "s2");
  script.forks(kOther.pid, kChild.pid, ms(5));
  exits(kChild.pid, ms(6));
  script.forks(kEngine.pid, kChild.pid, ms(7));
  sample(kChild.pid, ms(8));
  flush(ms(10));
  EXPECT_EQ(sink.processes.at(kChild).parent, kEngine);
  EXPECT_EQ(sink.processes.at(kChild).forked, ms(7));
  EXPECT_EQ(code_of(kChild, ms(8)), 11u);
}

// Where each process has events of its own, a child may execute a program before they are opened, and no
// record tells of it.
TEST(InheritedCodeOfEvents, IsNotTakenForWhatAChildMayHaveLeft) {
  constexpr ProcessId kEngine{42, 7}, kEarly{70, 9}, kLate{71, 9};
  constexpr TimeNs kMs = 1'000'000;
  InheritedCodeSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
  script.open(kEngine.pid);
  pipeline.on_known_process({kEngine, "engine"});
  script.hello(kEarly, 2, 6 * kMs, "s2");
  pipeline.on_known_process({kEarly, "child"});
  script.forks(kEngine.pid, kEarly.pid, 5 * kMs);
  script.forks(kEngine.pid, kLate.pid, 5 * kMs);
  script.read();
  pipeline.flush(10 * kMs);
  script.hello(kLate, 3, 20 * kMs, "s3");
  pipeline.on_known_process({kLate, "child"});
  pipeline.flush(30 * kMs);
  EXPECT_EQ(sink.processes.at(kEarly).parent, ProcessId{});
  EXPECT_EQ(sink.processes.at(kLate).parent, ProcessId{});
}

TEST_F(InheritedCode, GivesNoPlaceToAProcessWithoutChildrenThatWereSampled) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  script.forks(kShell.pid, kChild.pid, ms(6));
  flush(ms(10));
  EXPECT_EQ(sink.processes.size(), 1u);
}

TEST_F(InheritedCode, TellsAParentOnceUnlessItIsSampledItself) {
  script.forks(kEngine.pid, kShell.pid, ms(5));
  for (std::int32_t child = 61; child < 65; ++child) {
    script.forks(kShell.pid, child, ms(child));
    sample(child, ms(100 + child));
  }
  flush(ms(200));
  EXPECT_EQ(sink.told[kShell], 1);
  sample(kShell.pid, ms(201));
  flush(ms(300));
  EXPECT_EQ(sink.told[kShell], 2);
  EXPECT_EQ(sink.processes.at(kShell).first_seen, ms(201));
}

// Somebody may fork without end. As many generations are told as reports follow.
TEST_F(InheritedCode, GoesBackSoManyGenerations) {
  constexpr std::int32_t kForks = 100;
  for (std::int32_t i = 0; i < kForks; ++i)
    script.forks(i == 0 ? kEngine.pid : 100 + i - 1, 100 + i, ms(5 + i));
  sample(100 + kForks - 1, ms(200));
  flush(ms(300));
  EXPECT_EQ(sink.processes.size(), 2 + UntoldParents::kMost) << "the engine, the child, and those between";
}

}  // namespace
}  // namespace tailor::pipeline
