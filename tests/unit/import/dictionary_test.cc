// A perf.data with the journal of a recording that heard the engine at the same time: its samples have the
// owners that the recording itself gave to the same samples.
#include <gtest/gtest.h>

#include <string>

#include "daemon/import/perf_import.h"
#include "daemon/journal/journal_writer.h"
#include "daemon/pipeline/tee.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/query/sums/costs.h"
#include "tailor/tag.h"
#include "tests/support/engine_messages.h"
#include "tests/support/memory_output.h"
#include "tests/support/record_encoder.h"
#include "tests/support/scripted_input.h"

namespace tailor::importer {
namespace {

using test::RecordBytes;

constexpr ProcessId kEngine{42, 7};
constexpr std::int32_t kWorker = 44;
constexpr int kTurns = 6000;  // longer than a recording's watermark may lag

constexpr TimeNs ms(std::int64_t n) {
  return n * 1'000'000;
}

// What perf is asked for: the fields of ScriptedInput's samples.
perf_event_attr attribute(std::int32_t clock) {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_CPU_CLOCK;
  attr.sample_period = 1000;
  attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU |
                     PERF_SAMPLE_PERIOD | PERF_SAMPLE_REGS_USER;
  attr.sample_regs_user = 1u << 8 | 1u << 23;
  attr.use_clockid = clock >= 0;
  attr.clockid = clock;
  return attr;
}

// The records of all chunks as perf writes them: after each of its rounds nothing older comes.
class PerfFile : public pipeline::Input {
 public:
  explicit PerfFile(std::int32_t clock = CLOCK_MONOTONIC_RAW) {
    for (const std::uint64_t word : {0x32454C4946524550ull, 16ull})
      test::append(bytes, std::as_bytes(std::span(&word, 1)));
    const perf_event_attr attr = attribute(clock);
    test::append(bytes,
                 RecordBytes(64, 0).raw({reinterpret_cast<const char*>(&attr), sizeof attr}).u64(1).done());
  }
  void on_recording(const profile::RecordingInfo& /*info*/) override {}
  void on_clock(const clock::Conversion& /*piece*/, bool /*restarted*/) override {}
  void on_perf_clock(const clock::Conversion& /*line*/) override {}
  void on_known_process(const pipeline::KnownProcess& /*process*/) override {}
  void on_ring(const capture::RingLayout& /*layout*/) override {}
  void on_chunk(const capture::RingChunk& chunk) override {
    test::append(bytes, chunk.bytes);
    test::append(bytes, RecordBytes(68, 0).done());
  }
  void on_round(TimeNs /*horizon*/) override {}
  void on_ring_closed(capture::RingIndex /*ring*/) override {}
  void on_connected(const registration::PeerConnected& /*event*/) override {}
  void on_message(const registration::PeerMessage& /*event*/) override {}
  void on_activity(const registration::ActivityRecords& /*event*/) override {}
  void on_settled(const registration::Settled& /*event*/) override {}
  void on_rejected(const registration::PeerRejected& /*event*/) override {}
  void on_agent_dropped(ProcessId /*process*/, std::uint64_t /*messages*/) override {}
  void on_agent_unsent(ProcessId /*process*/, std::uint64_t /*messages*/) override {}
  void on_gone(const registration::PeerGone& /*event*/) override {}
  void on_capture_ended(const pipeline::CaptureEnded& /*event*/) override {}
  void on_process_ended(ProcessId /*process*/) override {}
  void on_names(const profile::FileNames& /*names*/) override {}
  void advance(TimeNs /*now*/) override {}
  void flush(TimeNs /*now*/) override {}

  std::vector<std::byte> bytes;
};

// Code at one address is of one plan first and of another one later; the process ends before the recording.
void act(pipeline::Input& input, TimeNs shift = 0) {
  test::ScriptedInput script(input);
  profile::RecordingInfo info;
  info.host = "host";
  info.sources.push_back({0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false});
  input.on_recording(info);
  script.open();
  input.advance(shift + ms(1));
  script.hello(kEngine, 1, shift + ms(1));
  for (int i = 0; i < kTurns; ++i) {
    const TimeNs time = shift + ms(3 + i);
    const auto handle = static_cast<ExecutionHandle>(i / 100 + 1);
    const PlanId plan = i < kTurns / 2 ? 1 : 2;
    if (i % (kTurns / 2) == 0) {
      if (plan == 2) script.unload_code(kEngine, time - ms(1) / 2, 11);
      script.load(kEngine, time - ms(1) / 4, test::small_plan(plan, static_cast<std::uint32_t>(plan)));
      script.load(kEngine, time - ms(1) / 4, test::small_code(10 + plan, plan, 0x10000));
    }
    if (i % 100 == 0) script.begin(kEngine, time, handle, plan);
    script.work(kEngine, kWorker, time, time + ms(1) / 2, handle, plan);
    script.sample(kEngine.pid, kWorker, time + 1000, 0x10000 + static_cast<std::uint64_t>(i) % 64);
    script.sample(kEngine.pid, kWorker, time + 2000, 0x7f0000000000,
                  tailor_tag_make(test::kScriptKey, static_cast<std::uint16_t>(plan), 1, 2, 3));
    script.sample(99, 99, time + 3000, 0x10008);
    if (i % 100 == 99) script.end(kEngine, time + ms(1) / 2, handle);
    script.read(time);
    script.settle(kEngine, time);
    input.advance(time + ms(1) - 1);
  }
  script.gone(kEngine, registration::GoneReason::kProcessExit);
  input.on_process_ended(kEngine);
  input.flush(shift + ms(kTurns + 10));
}

using Weights = std::map<std::tuple<ExecutionHandle, PlanId, LevelIndex, std::uint32_t, std::uint32_t, int>,
                         std::uint64_t>;

// By execution, plan, what owns it and why; what nobody owns is left out, as a recording forgets the
// processes that it was not asked for.
Weights weights_of(const query::Profile& profile) {
  Weights out;
  for (const auto& [key, cell] : profile.cells())
    if (key.plan != 0)
      out[{key.execution, key.plan, key.level, key.link, key.engine_component, static_cast<int>(key.how)}] +=
          cell.samples;
  return out;
}

struct Made {
  std::string journal;
  std::vector<std::byte> perf;
  Weights direct;  // of the recording itself
};

Made record(TimeNs shift = 0, std::int32_t clock = CLOCK_MONOTONIC_RAW) {
  Made made;
  pipeline::PipelineOptions options;
  auto journal = journal::JournalWriter::on(std::make_unique<test::MemoryOutput>(made.journal), options);
  PerfFile perf(clock);
  auto profile = query::Profile::load_from({}, [&](query::ProfileLoader& loader) -> Status {
    pipeline::Pipeline pipeline(loader, options);
    pipeline::Tee both({&perf, &pipeline});
    act(both);
    return Ok{};
  });
  act(*journal, shift);
  EXPECT_TRUE(journal->finish().ok());
  EXPECT_TRUE(profile.ok());
  if (profile.ok()) made.direct = weights_of(*profile);
  made.perf = std::move(perf.bytes);
  return made;
}

struct Imported {
  Weights weights;
  std::vector<std::string> notes;
  std::string error;
};

Imported import(const Made& made, bool with_dictionary = true) {
  Imported out;
  auto profile = query::Profile::load_from({}, [&](query::ProfileLoader& loader) -> Status {
    store::MemoryInput file({reinterpret_cast<const std::uint8_t*>(made.perf.data()), made.perf.size()});
    store::MemoryInput dictionary{std::string_view(made.journal)};
    PerfImportOptions options;
    options.find_names = false;
    if (with_dictionary) options.dictionary = &dictionary;
    auto done = import_perf_data(file, loader, options);
    if (!done) return done.error();
    out.notes = done->notes;
    return Ok{};
  });
  if (profile.ok()) {
    out.weights = weights_of(*profile);
  } else {
    out.error = profile.error().message;
  }
  return out;
}

std::uint64_t owned(const Weights& weights) {
  std::uint64_t sum = 0;
  for (const auto& [key, samples] : weights) sum += samples;
  return sum;
}

TEST(Dictionary, SamplesOfPerfHaveTheOwnersThatTheRecordingGave) {
  const Made made = record();
  const Imported imported = import(made);
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(imported.weights, made.direct);
  EXPECT_EQ(owned(made.direct), 2u * kTurns) << "code and tags are all known";
  ASSERT_FALSE(imported.notes.empty());
  EXPECT_EQ(imported.notes.front(), "the dictionary holds 2 plans and 2 pieces of code");
}

TEST(Dictionary, WithoutItNobodyOwnsThem) {
  const Imported imported = import(record(), false);
  ASSERT_EQ(imported.error, "");
  EXPECT_EQ(owned(imported.weights), 0u);
}

// The broken twin: words of another time are not taken for those of this one.
TEST(Dictionary, OfAnotherTimeOwnsNothing) {
  const Imported half = import(record(ms(kTurns / 2)));
  ASSERT_EQ(half.error, "");
  EXPECT_LT(owned(half.weights), 2u * kTurns);
  const Imported apart = import(record(ms(10 * kTurns)));
  ASSERT_EQ(apart.error, "");
  EXPECT_EQ(owned(apart.weights), 0u);
  EXPECT_NE(apart.notes.back().find("no sample was taken"), std::string::npos);
}

TEST(Dictionary, AnotherClockIsRefused) {
  for (const std::int32_t clock : {-1, CLOCK_MONOTONIC})
    EXPECT_NE(import(record(0, clock)).error.find("perf record -k CLOCK_MONOTONIC_RAW"), std::string::npos);
}

TEST(Dictionary, WhatIsNoJournalAndDamageAreErrors) {
  Made made = record();
  const std::string whole = made.journal;
  made.journal = "TAILOR profile or anything else";
  EXPECT_NE(import(made).error.find("the dictionary: "), std::string::npos);
  made.journal = whole;
  made.journal[whole.size() / 2] = static_cast<char>(made.journal[whole.size() / 2] ^ 1);
  EXPECT_NE(import(made).error.find("checksum"), std::string::npos);
  made.journal = whole.substr(0, whole.size() / 2);
  (void)import(made);  // a recording that was killed; must not crash
}

}  // namespace
}  // namespace tailor::importer
