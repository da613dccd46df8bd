// Samples that come as they lie in the ring become the same records as samples that come as events. The same
// host is told twice, once with an empty call chain in every sample: such samples come as events.
#include "daemon/pipeline/thread_spans.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>

#include <map>
#include <random>
#include <tuple>

#include "daemon/pipeline/pipeline.h"
#include "daemon/profile/cell_sums.h"
#include "tailor/tag.h"
#include "tests/support/collecting_sink.h"
#include "tests/support/engine_messages.h"
#include "tests/support/scripted_input.h"

namespace tailor::pipeline {
namespace {

constexpr TimeNs kStep = 1'000'000;
constexpr std::uint64_t kCode = 0x10000;

// Two engines, whose plans and code come and go at the same addresses, whose agents come back, that run other
// programs, and others that nobody asked for; by turns in one ring.
class Host {
 public:
  Host(Input& input, std::uint64_t also, std::uint64_t seed, bool states)
      : script_(input, also, states), input_(input), random_(seed), states_(states) {
    script_.open();
  }

  void run(int rounds) {
    for (const ProcessId& process : {kOne, kTwo}) {
      ++connection_;
      script_.hello(process, connection_, 1, "s" + std::to_string(connection_));
      for (PlanId plan = 1; plan <= 3; ++plan) {
        script_.load(process, 2, test::small_plan(plan, static_cast<std::uint32_t>(plan)));
        script_.load(process, 3, test::small_code(9 + plan, plan, slot(process, static_cast<int>(plan) - 1)));
      }
    }
    for (int round = 0; round < rounds; ++round, now_ += kStep) {
      for (int i = below(4); i > 0; --i) change();
      // What is said of the past comes before the samples, what is said of the future does so too.
      for (int i = below(40); i > 0; --i) sample();
      script_.read(now_);
      for (const ProcessId& process : {kOne, kTwo}) script_.settle(process, now_);
      if (below(3) == 0) input_.advance(now_ + below(400) * kStep);
    }
    input_.flush(now_ + 1000 * kStep);
  }

 private:
  static constexpr ProcessId kOne{42, 7}, kTwo{43, 8};

  int below(int bound) { return static_cast<int>(random_() % static_cast<std::uint64_t>(bound)); }
  // Within a few steps of now.
  TimeNs about_now() { return std::max<TimeNs>(1, now_ + below(4) * kStep / 3 - kStep); }
  std::uint64_t slot(ProcessId process, int which) {
    return kCode + 0x40 * which + 0x10000 * (process == kOne);
  }

  void change() {
    const ProcessId process = below(2) == 0 ? kOne : kTwo;
    const TimeNs time = about_now();
    const auto plan = static_cast<PlanId>(1 + below(3));
    const int place = below(3);
    const auto tid = static_cast<std::int32_t>(process.pid * 10 + below(3));
    switch (below(12)) {
      case 0:
        if (below(20) != 0) break;
        ++connection_;
        script_.hello(process, connection_, time, "s" + std::to_string(connection_));
        break;
      case 1:
        if (below(20) == 0) script_.gone(process, registration::GoneReason::kHangup);
        break;
      case 2:
      case 3:
        script_.load(process, time, test::small_plan(plan, static_cast<std::uint32_t>(plan)));
        break;
      case 4:
        if (below(3) == 0) script_.unload_plan(process, time, plan);
        break;
      case 5:
      case 6:
        script_.load(process, time,
                     test::small_code(10 + static_cast<CodeId>(place), plan, slot(process, place)));
        break;
      case 7:
        script_.unload_code(process, time, 10 + static_cast<CodeId>(place));
        break;
      case 8:
        if (below(20) == 0) {
          script_.record(test::RecordBytes(PERF_RECORD_COMM, PERF_RECORD_MISC_COMM_EXEC)
                             .u32(static_cast<std::uint32_t>(process.pid))
                             .u32(static_cast<std::uint32_t>(process.pid))
                             .text("other"),
                         process.pid, time);
        }
        break;
      default:
        script_.work(process, tid, time, time + below(6) * kStep, static_cast<ExecutionHandle>(1 + below(4)),
                     plan);
    }
  }

  void sample() {
    const ProcessId process = below(2) == 0 ? kOne : kTwo;
    const std::int32_t pid = below(30) == 0 ? 77 : process.pid;
    const auto tid = static_cast<std::int32_t>(process.pid * 10 + below(3));
    const auto task = static_cast<std::uint32_t>(below(5));
    const auto plan = static_cast<std::uint32_t>(1 + below(3));
    const std::uint64_t tag = below(3) == 0 ? static_cast<std::uint64_t>(below(2))
                                            : tailor_tag_make(test::kScriptKey, plan, 1, task % 3, task);
    const std::uint64_t ip = below(3) == 0 ? 0x7f0000000000 + static_cast<std::uint64_t>(below(3)) * 8
                                           : slot(process, below(4)) + static_cast<std::uint64_t>(below(64));
    if (states_ && below(3) == 0) script_.slot_says(state());
    script_.sample(pid, tid, now_ - kStep + below(1000) * kStep / 1000, below(50) == 0 ? 0 : ip, tag);
  }

  // For somebody, for nobody, and not read, for each of the reasons and one that nobody knows.
  tailor_thread_state state() {
    if (below(4) == 0) return {TAILOR_NO_STATE, static_cast<std::uint64_t>(below(4)), 0};
    if (below(4) == 0) return {0, 0, 0};
    return {static_cast<std::uint64_t>(1 + below(4)), static_cast<std::uint64_t>(1 + below(3)),
            static_cast<std::uint64_t>(below(3)) << 32 | static_cast<std::uint64_t>(below(3))};
  }

  test::ScriptedInput script_;
  Input& input_;
  std::mt19937_64 random_;
  bool states_;
  TimeNs now_ = 10 * kStep;
  std::uint64_t connection_ = 0;
};

auto all_of(const profile::SampleRecord& s) {
  const profile::Attribution& a = s.attribution;
  return std::tuple(std::tuple(s.time, s.process, s.tid, s.cpu, s.source, s.mode, s.has_tag, s.wait, s.weight,
                               s.ip, s.user_ip),
                    std::tuple(s.tag, s.address, s.address_from, s.skid, s.region, s.latency, s.data_source),
                    std::tuple(a.how, a.reason, a.quality, a.kernel, a.pipeline, a.level, a.link,
                               a.engine_component, a.plan, a.code, a.execution));
}

auto all_of(const profile::Accounting& a) {
  return std::tuple(a.received, a.attributed, a.unattributed, a.filtered, a.late, a.on_cpu_ns, a.slot_states,
                    a.slots_missing, a.slots_unread);
}

struct Told {
  test::CollectingSink sink;
  PipelineStats stats;
};

Told tell(std::uint64_t also, std::uint64_t seed, bool states = false) {
  Told told;
  Pipeline pipeline(told.sink);
  profile::RecordingInfo info;
  info.sources = {{0, "cpu-clock", profile::Unit::kNsOnCpu, 1000, false}};
  pipeline.on_recording(info);
  Host(pipeline, also, seed, states).run(300);
  told.stats = pipeline.stats();
  return told;
}

// Half of the hosts have slots that say for whom threads work.
TEST(ThreadSpans, GiveWhatEventsGive) {
  std::size_t samples = 0, numbered = 0;
  profile::Accounting slots;
  std::map<profile::How, std::size_t> ways;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const bool states = seed % 2 == 0;
    const Told shorter = tell(0, seed, states), longer = tell(PERF_SAMPLE_CALLCHAIN, seed, states);
    ASSERT_EQ(shorter.sink.samples.size(), longer.sink.samples.size()) << "seed " << seed;
    for (std::size_t i = 0; i < longer.sink.samples.size(); ++i) {
      const profile::SampleRecord& sample = shorter.sink.samples[i];
      ASSERT_EQ(all_of(sample), all_of(longer.sink.samples[i])) << "seed " << seed << ", sample " << i;
      ++ways[sample.attribution.how];
      numbered += sample.alike != 0;
      ASSERT_EQ(longer.sink.samples[i].alike, 0u) << "it did not come as an event";
    }
    samples += longer.sink.samples.size();
    ASSERT_EQ(shorter.sink.accounting.size(), longer.sink.accounting.size()) << "seed " << seed;
    for (const auto& [process, accounting] : longer.sink.accounting) {
      EXPECT_EQ(all_of(shorter.sink.accounting.at(process)), all_of(accounting)) << "seed " << seed;
      add(slots, accounting);
    }
    EXPECT_EQ(shorter.stats.samples, longer.stats.samples);
    for (const auto& [process, record] : longer.sink.processes) {
      EXPECT_EQ(shorter.sink.processes.at(process).first_seen, record.first_seen) << "seed " << seed;
    }
  }
  EXPECT_GT(samples, 100'000u);
  EXPECT_GT(slots.slot_states, samples / 10);
  EXPECT_GT(slots.slots_missing, samples / 100);
  EXPECT_GT(slots.slots_unread, samples / 100);
  EXPECT_GT(numbered, samples / 5);
  EXPECT_GT(ways[profile::How::kCode], samples / 10);
  EXPECT_GT(ways[profile::How::kTag], samples / 100);
  EXPECT_GT(ways[profile::How::kUnattributed], samples / 100);
}

// How many samples have a number that one of another key had.
std::size_t wrongly_alike(std::uint64_t kept_bits) {
  std::size_t wrong = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    std::map<std::uint64_t, profile::CellKey> keys;
    for (const profile::SampleRecord& sample : tell(0, seed, seed % 2 == 0).sink.samples) {
      if (sample.alike == 0) continue;
      const profile::CellKey key = profile::key_of(sample);
      wrong += keys.try_emplace(sample.alike & kept_bits, key).first->second != key;
    }
  }
  return wrong;
}

TEST(ThreadSpans, NumberOnlyWhatIsAlike) {
  EXPECT_EQ(wrongly_alike(~std::uint64_t{0}), 0u);
  EXPECT_GT(wrongly_alike(0xFFFF'FFFF), 0u) << "the twin: the row alone";
  EXPECT_GT(wrongly_alike(~std::uint64_t{0xFFFF'FFFF}), 0u) << "the twin: the thread's work alone";
}

}  // namespace
}  // namespace tailor::pipeline
