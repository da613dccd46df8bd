#include <gtest/gtest.h>

#include <string>

#include "daemon/journal/journal_format.h"
#include "daemon/journal/journal_writer.h"
#include "daemon/journal/replay.h"
#include "daemon/pipeline/tee.h"
#include "daemon/store/file_writer.h"
#include "tailor/tag.h"
#include "tests/support/engine_messages.h"
#include "tests/support/memory_output.h"
#include "tests/support/scripted_input.h"

namespace tailor::journal {
namespace {

constexpr TimeNs ms(std::int64_t n) {
  return n * 1'000'000;
}

// A recording in which every input occurs.
void act(pipeline::Input& input, int turns = 300) {
  test::ScriptedInput script(input);
  profile::RecordingInfo info;
  info.host = "host";
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false});
  input.on_recording(info);
  clock::Conversion perf_clock;
  perf_clock.mult = 1;
  input.on_perf_clock(perf_clock);
  script.open(-1, capture::RecordClock::kPerf);
  const ProcessId process{42, 7};
  pipeline::KnownProcess known{process, "engine"};
  known.memory = {{0x1000, 0x1000, true, true, false, false, "[heap]"},
                  {0x5000, 0x1000, true, false, true, true, ""}};
  known.since = ms(1) / 2;
  known.more = true;
  known.rules = "duckdb";
  input.on_known_process(known);
  script.hello(process, 1, ms(1));
  script.load(process, ms(2), test::small_plan(1));
  script.load(process, ms(2), test::small_code(11, 1, 0x10000));
  for (int i = 0; i < turns; ++i) {
    const TimeNs time = ms(3 + i);
    const auto handle = static_cast<ExecutionHandle>(i + 1);
    script.begin(process, time, handle, 1);
    script.work(process, 44, time, time + ms(1) / 2, handle, 1);
    script.sample(42, 44, time + 1000, 0x10000 + static_cast<std::uint64_t>(i) % 64);
    script.sample(42, 44, time + 2000, 0x7f0000000000, tailor_tag_make(test::kScriptKey, 1, 1, 2, 3));
    script.end(process, time + ms(1) / 2, handle);
    script.read(time);
    script.settle(process, time);
    input.advance(time);
  }
  input.on_agent_dropped(process, 17);
  input.on_agent_unsent(process, 5);
  input.on_rejected({1, process, "nonsense \xff"});
  script.unload_code(process, ms(304), 11);
  script.gone(process, registration::GoneReason::kHangup);
  input.on_ring_closed(0);
  input.on_capture_ended({process, ms(306), false, 9, 4, 1});
  input.on_process_ended(process);
  input.flush(ms(310));
}

struct Made {
  std::string profile, journal;
};

Made record() {
  Made made;
  auto file = store::FileWriter::on(std::make_unique<test::MemoryOutput>(made.profile));
  pipeline::PipelineOptions options;
  options.delay = ms(50);
  pipeline::Pipeline pipeline(*file, options);
  auto journal = JournalWriter::on(std::make_unique<test::MemoryOutput>(made.journal), options);
  pipeline::Tee both({journal.get(), &pipeline});
  act(both);
  EXPECT_TRUE(file->finish().ok());
  EXPECT_TRUE(journal->finish().ok());
  EXPECT_EQ(pipeline.stats().samples, 600u);
  return made;
}

Result<ReplayReport> replayed(const std::string& journal, std::string& profile) {
  auto file = store::FileWriter::on(std::make_unique<test::MemoryOutput>(profile));
  store::MemoryInput input{std::string_view(journal)};
  auto report = replay(input, *file);
  EXPECT_TRUE(file->finish().ok());
  return report;
}

TEST(Journal, ReplaysToAByteIdenticalProfile) {
  const Made made = record();
  ASSERT_GT(made.profile.size(), 1000u);
  std::string again;
  auto report = replayed(made.journal, again);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->complete);
  EXPECT_TRUE(made.profile == again);
}

TEST(Journal, AnotherInputMakesAnotherProfile) {
  Made made = record();
  std::string other;
  auto file = store::FileWriter::on(std::make_unique<test::MemoryOutput>(other));
  pipeline::Pipeline pipeline(*file);
  act(pipeline, 299);
  EXPECT_TRUE(file->finish().ok());
  EXPECT_FALSE(made.profile == other);
}

TEST(Journal, WhoseWriterDiedReplaysAsFarAsItGoes) {
  Made made = record();
  made.journal.resize(made.journal.size() - 12);  // the end record: frame and four bytes
  std::string profile;
  auto report = replayed(made.journal, profile);
  EXPECT_FALSE(report.ok() && report->complete);
  EXPECT_GT(profile.size(), 1000u);
}

// Wherever a byte is wrong: an error, never a crash, never silence.
TEST(Journal, DamageIsFound) {
  const Made made = record();
  for (std::size_t at = 0; at < made.journal.size(); at += 1 + made.journal.size() / 300) {
    if (at >= 12 && at < kHeaderBytes) continue;  // reserved
    std::string damaged = made.journal;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x41);
    std::string profile;
    auto report = replayed(damaged, profile);
    EXPECT_FALSE(report.ok()) << "byte " << at;
  }
}

TEST(Journal, CutAnywhereItDoesNotPretendToBeComplete) {
  const Made made = record();
  for (std::size_t size = 0; size < made.journal.size(); size += 1 + made.journal.size() / 300) {
    std::string profile;
    auto report = replayed(made.journal.substr(0, size), profile);
    EXPECT_FALSE(report.ok() && report->complete) << size;
  }
}

TEST(Journal, OtherFilesAndVersionsAreRefused) {
  std::string profile, journal = record().journal;
  EXPECT_FALSE(replayed("", profile).ok());
  EXPECT_FALSE(replayed("#!/bin/sh\necho this is no journal\n", profile).ok());
  journal[8] = 2;
  EXPECT_FALSE(replayed(journal, profile).ok());
  EXPECT_FALSE(replay_file("/nonexistent.journal", "/nonexistent.tailor").ok());
}

TEST(Journal, ADiskThatFillsUpIsToldAtTheEnd) {
  std::string bytes;
  auto output = std::make_unique<test::MemoryOutput>(bytes);
  output->capacity = 100;
  auto journal = JournalWriter::on(std::move(output), {});
  act(*journal);
  EXPECT_FALSE(journal->finish().ok());
}

}  // namespace
}  // namespace tailor::journal
