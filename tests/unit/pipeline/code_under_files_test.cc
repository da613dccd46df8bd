// Code that was never unloaded, where something else is mapped later. Attribution and reports say the same.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <string>
#include <vector>

#include "daemon/query/code/code_timelines.h"
#include "tests/unit/pipeline/fixture.h"

namespace tailor::pipeline {
namespace {

// What reports ask.
class TimelineSink : public test::CollectingSink {
 public:
  void on_mapping(const profile::MappingRecord& mapping) override { timelines.on_mapping(mapping); }
  void on_code(ProcessId process, TimeNs time, const v1::CodeObject& code) override {
    timelines.on_code(process, time, code.id(), code.base(), code.code().size());
  }
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override {
    CollectingSink::on_code_unload(process, time, code);
    timelines.on_code_unload(process, time, code);
  }
  query::CodeTimelines timelines;
};

class CodeUnderFiles : public testing::Test {
 protected:
  static constexpr ProcessId kProcess{42, 7};
  static constexpr std::uint64_t kCode = 0x10000;
  static constexpr TimeNs ms(std::int64_t n) { return n * 1'000'000; }

  CodeUnderFiles() {
    script.open();
    script.hello(kProcess, 1, ms(1));
    script.load(kProcess, ms(1), test::small_plan(1));
    load(11, ms(10));
  }
  void load(CodeId id, TimeNs time) { script.load(kProcess, time, test::small_code(id, 1, kCode)); }
  void map(TimeNs time, const std::string& path, std::uint32_t protection = PROT_READ | PROT_EXEC) {
    script.map(kProcess.pid, time, kCode, 0x1000, path, protection);
  }
  // A look that was begun at `since` and saw this file there; "": none.
  void look(TimeNs since, const std::string& path) {
    KnownProcess known{kProcess, "engine"};
    known.since = since;
    known.mappings = {{kProcess, kTimeMin, 0x1000, 0x1000, 0, "/bin/engine"}};
    if (!path.empty()) known.mappings.push_back({kProcess, kTimeMin, kCode, 0x1000, 0, path});
    pipeline.on_known_process(known);
  }
  void sample(TimeNs time) { script.sample(kProcess.pid, kProcess.pid, time, kCode + 8); }
  void read(TimeNs now = ms(1'000'000)) {
    script.read();
    pipeline.flush(now);
  }
  // The code object that each sample is in, 0: none.
  std::vector<CodeId> whose() {
    std::vector<CodeId> out;
    for (const profile::SampleRecord& each : sink.samples) out.push_back(each.attribution.code);
    return out;
  }
  std::vector<CodeId> by_reports() {
    std::vector<CodeId> out;
    for (const profile::SampleRecord& each : sink.samples)
      out.push_back(sink.timelines.find(each.process, each.ip, each.time).state.code);
    return out;
  }
  using Codes = std::vector<CodeId>;

  TimelineSink sink;
  Pipeline pipeline{sink};
  test::ScriptedInput script{pipeline};
};

TEST_F(CodeUnderFiles, ALibraryEndsTheCodeThatWasThere) {
  sample(ms(19));
  map(ms(20), "/usr/lib/query.so");
  sample(ms(21));
  read();
  EXPECT_EQ(whose(), (Codes{11, 0}));
  EXPECT_EQ(by_reports(), whose());
  script.unload_code(kProcess, ms(30), 11);
  EXPECT_EQ(sink.unloads, (Codes{11})) << "its unloading is no fault of the engine's";
  EXPECT_EQ(sink.accounting[kProcess].messages_rejected, 0u);
}

TEST_F(CodeUnderFiles, CodeThatComesAfterTheLibraryStays) {
  map(ms(20), "/usr/lib/query.so");
  load(12, ms(25));
  sample(ms(24));
  sample(ms(26));
  map(ms(27), "/usr/lib/query.so");  // a change of protection
  sample(ms(28));
  read();
  EXPECT_EQ(whose(), (Codes{0, 12, 12}));
  EXPECT_EQ(by_reports(), whose());
}

// The kernel tells of the library behind what the agent has said since.
TEST_F(CodeUnderFiles, ALibraryThatIsToldLateEndsNothingNewer) {
  load(12, ms(25));
  map(ms(20), "/usr/lib/query.so");
  sample(ms(19));
  sample(ms(24));
  sample(ms(26));
  read();
  EXPECT_EQ(whose(), (Codes{11, 0, 12}));
  EXPECT_EQ(by_reports(), whose());
}

class MemoryForCode : public CodeUnderFiles, public testing::WithParamInterface<const char*> {};

// Engines write code through one mapping and run it in another, or make pages writable for a moment.
TEST_P(MemoryForCode, EndsNoCode) {
  map(ms(20), GetParam());
  sample(ms(21));
  map(ms(22), GetParam(), PROT_READ | PROT_WRITE);
  map(ms(23), GetParam());
  sample(ms(24));
  map(ms(25), "/usr/lib/query.so");
  sample(ms(26));
  read();
  EXPECT_EQ(whose(), (Codes{11, 11, 0}));
  EXPECT_EQ(by_reports(), whose());
}

INSTANTIATE_TEST_SUITE_P(Kinds, MemoryForCode,
                         testing::Values("//anon", "/memfd:doublemapper (deleted)", "/dev/shm/code",
                                         "/tmp/ffiAbC (deleted)", "/dev/zero (deleted)", "/anon_hugepage",
                                         "[anon:v8]"));

// When the file came is not known: after the look before, at which it was not there.
TEST_F(CodeUnderFiles, ALookEndsWhatIsOlderThanTheLookBefore) {
  read(ms(11));
  look(ms(12), "");
  load(12, ms(14));
  read(ms(15));
  look(ms(20), "/usr/lib/query.so");
  sample(ms(19));
  sample(ms(21));
  read();
  EXPECT_EQ(whose(), (Codes{12, 12})) << "it may be code of this very file";
  look(ms(2'000'000), "/usr/lib/other.so");
  read(ms(2'000'001));
  sample(ms(2'000'002));
  read(ms(2'000'003));
  EXPECT_EQ(whose(), (Codes{12, 12, 0}));
}

TEST_F(CodeUnderFiles, AFirstLookEndsNothing) {
  read(ms(11));
  look(ms(12), "/usr/lib/query.so");
  sample(ms(13));
  read();
  EXPECT_EQ(whose(), (Codes{11}));
  EXPECT_EQ(by_reports(), whose());
}

}  // namespace
}  // namespace tailor::pipeline
