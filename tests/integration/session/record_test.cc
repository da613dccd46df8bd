// The whole way on this host: an engine of a known shape is launched, registers, is sampled and attributed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/journal/replay.h"
#include "tests/integration/session/record_fixture.h"

namespace tailor::session {
namespace {

// The task of a sample: 1, 2, 3, or 0.
int task_of(const profile::SampleRecord& sample) {
  const profile::Attribution& word = sample.attribution;
  if (word.plan == 0) return 0;
  const auto id = static_cast<int>(word.link >> 1);
  return word.level == 2 ? (id + 1) / 2 : id;
}

class RecordBy : public RecordTest, public testing::WithParamInterface<capture::SampledBy> {
 protected:
  RecordBy() { sampled_by = GetParam(); }
};
INSTANTIATE_TEST_SUITE_P(Sources, RecordBy,
                         testing::Values(capture::SampledBy::kPerf, capture::SampledBy::kBpf),
                         [](const auto& each) {
                           return each.param == capture::SampledBy::kBpf ? std::string("Bpf") : "Perf";
                         });

TEST_P(RecordBy, FindsTheKnownShares) {
  test::undisturbed([&] {
    profile = {};
    const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "10", "20"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    EXPECT_EQ(outcome.exit_code, 0);
    std::map<int, double> weight;
    double inside = 0;
    std::map<profile::Quality, double> quality;
    std::map<ExecutionHandle, std::set<std::int32_t>> threads;
    for (const auto& sample : profile.samples) {
      if (sample.attribution.execution == 0) continue;
      weight[task_of(sample)] += static_cast<double>(sample.weight);
      if (sample.attribution.how == profile::How::kCode) quality[sample.attribution.quality] += 1;
      inside += static_cast<double>(sample.weight);
      threads[sample.attribution.execution].insert(sample.tid);
    }
    ASSERT_GT(inside, 0);
    const double samples = samples_in(inside);
    EXPECT_NEAR(weight[1] / inside, 1.0 / 8, 0.01 + by_chance(1.0 / 8, samples));
    EXPECT_NEAR(weight[2] / inside, 3.0 / 8, 0.01 + by_chance(3.0 / 8, samples));
    EXPECT_NEAR(weight[3] / inside, 4.0 / 8, 0.01 + by_chance(4.0 / 8, samples));
    EXPECT_GE((weight[1] + weight[2] + weight[3]) / inside, 0.98 - by_chance(0.98, samples));
    // What the row table says of the address comes with the sample: of task 2's that it is inferred.
    const double of_code = quality[profile::Quality::kExact] + quality[profile::Quality::kInferred];
    EXPECT_NEAR(quality[profile::Quality::kExact] / of_code, 1.0 / 4, 0.02 + by_chance(0.25, of_code));
    EXPECT_EQ(quality.size(), 2u);
    EXPECT_EQ(threads.size(), 20u);
    for (const auto& [execution, tids] : threads) EXPECT_EQ(tids.size(), 1u) << execution;
    EXPECT_EQ(outcome.total.received, outcome.total.attributed + outcome.total.unattributed +
                                          outcome.total.filtered + outcome.total.late);
    EXPECT_EQ(outcome.samples_written, profile.samples.size());
    EXPECT_EQ(outcome.total.messages_rejected, 0u);
    EXPECT_EQ(profile.executions.size(), 20u);
    EXPECT_EQ(profile.recording.sources.size(), 1u);
  });
}

TEST_P(RecordBy, ReplaysToTheSameBytes) {
  run({std::string(TARGETS) + "/known_shares", "2", "3", "10"}, directory + "/journal");
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  auto report = journal::replay_file(directory + "/journal", directory + "/again.tailor");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(report->complete);
  EXPECT_TRUE(content(directory + "/profile.tailor") == content(directory + "/again.tailor"));
}

// Shares by task of all samples in executions.
std::map<int, double> shares_of(const std::vector<profile::SampleRecord>& samples) {
  std::map<int, double> shares;
  double inside = 0;
  for (const auto& sample : samples) {
    if (sample.attribution.execution == 0) continue;
    shares[task_of(sample)] += static_cast<double>(sample.weight);
    inside += static_cast<double>(sample.weight);
  }
  for (auto& [task, share] : shares) share /= inside;
  return shares;
}

TEST_F(RecordTest, SumsGiveTheSharesOfSingleSamplesAndReplay) {
  test::undisturbed([&] {
    profile = {};
    sampled_by = capture::SampledBy::kBpf;
    stacks = capture::Stacks::kAdaptive;
    aggregate = 300'000'000;
    const std::string journal = directory + "/journal";
    const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "10", "20"}, journal);
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    auto shares = shares_of(profile.samples);
    double weight = 0;
    for (const auto& sample : profile.samples) weight += static_cast<double>(sample.weight);
    const double samples = weight / static_cast<double>(profile.recording.sources.front().period);
    ASSERT_GT(samples, 0);
    EXPECT_NEAR(shares[1], 1.0 / 8, 0.01 + by_chance(1.0 / 8, samples));
    EXPECT_NEAR(shares[2], 3.0 / 8, 0.01 + by_chance(3.0 / 8, samples));
    EXPECT_NEAR(shares[3], 4.0 / 8, 0.01 + by_chance(4.0 / 8, samples));
    EXPECT_GE(shares[1] + shares[2] + shares[3], 0.98 - by_chance(0.98, samples));
    EXPECT_LT(static_cast<double>(profile.samples.size()), samples / 2) << "they are added up";
    EXPECT_EQ(outcome.total.received, outcome.total.attributed + outcome.total.unattributed +
                                          outcome.total.filtered + outcome.total.late);
    EXPECT_EQ(outcome.total.late + outcome.total.lost_ring, 0u);
    EXPECT_EQ(profile.recording.aggregated_ns, static_cast<std::uint64_t>(aggregate));
    auto report = journal::replay_file(journal, directory + "/again.tailor");
    ASSERT_TRUE(report.ok()) << report.error().message;
    const bool same = content(directory + "/profile.tailor") == content(directory + "/again.tailor");
    test::no_excuse(same);
    EXPECT_TRUE(same);
  });
}

// The samples of a journal, by their states or by the logs alone.
std::vector<profile::SampleRecord> samples_of(const std::string& journal, bool slot_states) {
  test::CollectingSink sink;
  auto file = store::open_file(journal);
  EXPECT_TRUE(file.ok());
  auto report = journal::replay(**file, sink, slot_states);
  EXPECT_TRUE(report.ok());
  return sink.samples;
}

// Both ways to say for whom a thread works, on one run. A mark is within the error of the clocks of a sample
// only where one follows it so closely.
TEST_F(RecordTest, SlotsAndLogsSayTheSame) {
  test::undisturbed([&] {
    profile = {};
    sampled_by = capture::SampledBy::kBpf;
    const std::string journal = directory + "/journal";
    const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "100", "1"}, journal);
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    const auto by_slots = samples_of(journal, true), by_logs = samples_of(journal, false);
    ASSERT_EQ(by_slots.size(), by_logs.size());
    ASSERT_EQ(by_slots.size(), profile.samples.size());
    double inside = 0, different = 0;
    for (std::size_t i = 0; i < by_logs.size(); ++i) {
      const profile::Attribution &slot = by_slots[i].attribution, &log = by_logs[i].attribution;
      inside += log.execution != 0;
      different += slot.execution != log.execution || slot.pipeline != log.pipeline ||
                   slot.engine_component != log.engine_component || slot.plan != log.plan;
    }
    ASSERT_GT(inside, 0);
    const auto samples = static_cast<double>(by_logs.size());
    EXPECT_LE(different / samples, 0.01 + by_chance(0.01, samples)) << different << " of " << samples;
    const auto states = static_cast<double>(outcome.total.slot_states);
    EXPECT_GE(states, 0.9 * inside) << "of samples within executions";
    // The page that says where a thread's slot is may not be there before the thread uses it.
    const auto unread = static_cast<double>(outcome.total.slots_unread);
    EXPECT_LE(unread / samples, 0.01 + by_chance(0.01, samples)) << unread << " of " << samples;
  });
}

// Of the samples in kernel mode: weight by task, and that of all.
struct KernelShares {
  std::map<int, double> of_task;
  double all = 0;
};
KernelShares kernel_shares(const std::vector<profile::SampleRecord>& samples) {
  KernelShares shares;
  for (const auto& sample : samples) {
    if (sample.mode != profile::Mode::kKernel || sample.attribution.execution == 0) continue;
    const auto weight = static_cast<double>(sample.weight);
    shares.all += weight;
    if (sample.attribution.how == profile::How::kKernelTag) shares.of_task[task_of(sample)] += weight;
  }
  return shares;
}

TEST_P(RecordBy, KernelTimeGoesToTheTaskThatCausedIt) {
  const RecordOutcome outcome = run({std::string(TARGETS) + "/kernel_shares", "20", "100"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all,
            0.99 - by_chance(0.99, samples_in(shares.all)));
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.02 + by_chance(0.25, samples_in(shares.all)));
  EXPECT_NE(outcome.sampling_notes.find(sampled_by == capture::SampledBy::kBpf ? "cpu-clock by BPF"
                                                                               : "cpu-clock by perf"),
            std::string::npos);
}

// Calls so short that entering the kernel and leaving it is most of their time.
TEST_P(RecordBy, KernelTimeOfFutexesGoesToTheTaskThatCausedIt) {
  run({std::string(TARGETS) + "/kernel_shares", "20", "20", "futex"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all,
            0.99 - by_chance(0.99, samples_in(shares.all)));
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.02 + by_chance(0.25, samples_in(shares.all)));
}

// The twin that must fail: without the tag nothing says on whose behalf the kernel runs.
TEST_P(RecordBy, KernelTimeWithoutATagIsNobodys) {
  run({std::string(TARGETS) + "/kernel_shares", "20", "50", "untagged"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  EXPECT_EQ(shares.of_task[1] + shares.of_task[3], 0);
}

// A tag in memory is read by whoever is there at the moment of the sample: the BPF program.
TEST_P(RecordBy, ATagInAMemorySlotIsReadByBpfAlone) {
  const RecordOutcome outcome = run({std::string(TARGETS) + "/kernel_shares", "20", "100", "slot"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  const bool said = std::ranges::any_of(outcome.problems, [](const pipeline::Problem& problem) {
    return problem.text.find("it keeps tags in memory slots, and only a BPF program reads them") !=
           std::string::npos;
  });
  if (sampled_by == capture::SampledBy::kBpf) {
    EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all,
              0.99 - by_chance(0.99, samples_in(shares.all)));
    EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.02 + by_chance(0.25, samples_in(shares.all)));
    EXPECT_FALSE(said);
  } else {
    EXPECT_EQ(shares.of_task[1] + shares.of_task[3], 0);
    EXPECT_TRUE(said);
  }
}

// Software events: page faults, which the kernel takes while it copies into pages it had given up.
TEST_P(RecordBy, FaultsGoToTheTaskThatCausedThem) {
  test::undisturbed([&] {
    profile = {};
    events = {"page-faults"};
    run({std::string(TARGETS) + "/kernel_shares", "5", "20"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    KernelShares shares = kernel_shares(profile.samples);
    EXPECT_GT(shares.all, 5000) << "faults";
    EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.99 - by_chance(0.99, shares.all));
    // The tasks take turns by time, and a host that is slow for a while takes fewer faults in it.
    EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.05);
  });
}

// Time of samples in executions by task, and how much of it is known by a tag that was saved.
struct SavedShares {
  std::map<int, double> of_task;
  double all = 0, unwound = 0;
};
SavedShares saved_shares(const std::vector<profile::SampleRecord>& samples) {
  SavedShares shares;
  for (const auto& sample : samples) {
    if (sample.attribution.execution == 0) continue;
    const auto weight = static_cast<double>(sample.weight);
    shares.all += weight;
    shares.of_task[task_of(sample)] += weight;
    if (sample.attribution.how == profile::How::kTagUnwound) shares.unwound += weight;
  }
  return shares;
}

TEST_P(RecordBy, ATagThatALibraryPutAsideIsFoundAndNoStackIsKept) {
  stacks = sampled_by == capture::SampledBy::kBpf ? capture::Stacks::kAdaptive : capture::Stacks::kAlways;
  const std::string journal = directory + "/journal";
  run({std::string(TARGETS) + "/saved_register", "20", "10"}, journal);
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  SavedShares shares = saved_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  EXPECT_GE(shares.unwound / shares.all, 0.95 - by_chance(0.95, samples_in(shares.all)));
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all,
            0.98 - by_chance(0.98, samples_in(shares.all)));
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.02 + by_chance(0.25, samples_in(shares.all)));
  EXPECT_EQ(content(journal).find("SECRET-ON-THE-STACK"), std::string::npos);
  EXPECT_EQ(content(directory + "/profile.tailor").find("SECRET-ON-THE-STACK"), std::string::npos);
  auto report = journal::replay_file(journal, directory + "/again.tailor");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(content(directory + "/profile.tailor") == content(directory + "/again.tailor"));
}

// Known code and known tags need no stack; "always", the twin, takes one with every sample.
TEST_F(RecordTest, AdaptiveStacksAreTakenOfFewSamples) {
  test::undisturbed([&] {
    sampled_by = capture::SampledBy::kBpf;
    for (auto wanted : {capture::Stacks::kAdaptive, capture::Stacks::kAlways}) {
      stacks = wanted;
      profile = {};
      // Long enough that what the program does before it registers, of which nothing is known, is a small
      // part.
      const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "30", "20"});
      if (!skipped.empty()) GTEST_SKIP() << skipped;
      ASSERT_GT(outcome.samples_written, 0u);
      const auto part = static_cast<double>(outcome.stacks) / static_cast<double>(outcome.samples_written);
      if (wanted == capture::Stacks::kAdaptive) {
        EXPECT_LT(part, 0.05 + by_chance(0.05, static_cast<double>(outcome.samples_written)));
      } else {
        EXPECT_GT(part, 0.99 - by_chance(0.99, static_cast<double>(outcome.samples_written)));
      }
    }
  });
}

// The twin that must fail: without stacks the tag is out of reach.
TEST_P(RecordBy, WithoutStacksATagThatALibraryPutAsideIsLost) {
  run({std::string(TARGETS) + "/saved_register", "20", "5"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  SavedShares shares = saved_shares(profile.samples);
  ASSERT_GT(shares.all, 0);
  EXPECT_LT((shares.of_task[1] + shares.of_task[3]) / shares.all,
            0.05 + by_chance(0.05, samples_in(shares.all)));
}

// A child that works for long, one after the other.
TEST_P(RecordBy, ChildrenAreFollowedAndTheirTimeIsCovered) {
  test::undisturbed([&] {
    profile = {};
    const RecordOutcome outcome = run(
        {"sh", "-c", "for k in 1 2; do sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'; done; :"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    std::map<std::int32_t, double> of_process;
    double all = 0;
    for (const auto& sample : profile.samples) {
      of_process[sample.process.pid] += static_cast<double>(sample.weight);
      all += static_cast<double>(sample.weight);
    }
    ASSERT_GT(all, 0);
    std::size_t workers = 0;
    for (const auto& [pid, ns] : of_process) workers += ns > 0.3 * all;
    EXPECT_EQ(workers, 2u) << "both children, and not their parent";
    EXPECT_EQ(all, static_cast<double>(outcome.recording.cpu_sampled_ns));
    EXPECT_GT(coverage_of(outcome), 0.85);
    EXPECT_LT(coverage_of(outcome), 1.10);
    EXPECT_EQ(outcome.total.lost_ring, 0u);
  });
}

TEST_F(RecordTest, RecordsSeveralEvents) {
  events = {"cpu-clock", "faults"};
  const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "3", "10"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  ASSERT_EQ(profile.recording.sources.size(), 2u);
  std::map<int, std::size_t> samples;
  for (const auto& sample : profile.samples) ++samples[sample.source];
  EXPECT_GT(samples[0], 0u);
  EXPECT_GT(samples[1], 0u);
  EXPECT_NE(outcome.sampling_notes.find("every page fault"), std::string::npos);
}

TEST_F(RecordTest, TimeOffCpuIsALaneOfItsOwn) {
  events = {"off-cpu"};
  run({std::string(TARGETS) + "/naps", "50", "2000"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  std::uint64_t away = 0, naps = 0;
  for (const auto& sample : profile.samples) {
    if (profile.recording.sources.at(sample.source).unit != profile::Unit::kNsOffCpu) continue;
    away += sample.weight;
    ++naps;
  }
  EXPECT_GE(naps, 50u);
  EXPECT_GE(away, 50u * 2'000'000);
}

// What known_waits said of its waits, and what of them the profile has.
struct Waits {
  std::map<std::string, double> said;  // ns; -1: the host has no such wait
  std::map<profile::Wait, double> named, of_right_task, count;
  double of_tasks = 0, unknown = 0;
};
// The kernel's clock of a thread's CPU time starts before its memory is switched in, the wait ends behind
// that: 12 us later where the CPU forgets its branch predictions between two processes.
constexpr double kSwitch = 20'000;  // ns
const std::map<std::string, profile::Wait> kWaits = {
    {"lock", profile::Wait::kLock}, {"sleep", profile::Wait::kSleep},
    {"peer", profile::Wait::kPeer}, {"page_fault", profile::Wait::kPage},
    {"io", profile::Wait::kIo},     {"run_queue", profile::Wait::kRunnable}};

class WaitsTest : public RecordTest {
 protected:
  // Skips the test where they cannot be sampled or named.
  Waits record_waits(const std::string& how) {
    events = {"off-cpu"};
    const std::string out = directory + "/waits";
    outcome = run({"sh", "-c",
                   std::string(TARGETS) + "/known_waits 40 2000 " + directory + "/io " + how + " > " + out});
    if (skipped.empty() && outcome.sampling_notes.find("waits are not named") != std::string::npos)
      skipped = test::skip_if_denied(test::bpf_denied(), outcome.sampling_notes);
    Waits waits;
    for (const auto& sample : profile.samples) {
      const auto ns = static_cast<double>(sample.weight);
      const int task = task_of(sample);
      if (task == 0) continue;  // other threads, and what the agent does
      const bool first = sample.wait == profile::Wait::kLock || sample.wait == profile::Wait::kPage;
      waits.named[sample.wait] += ns;
      ++waits.count[sample.wait];
      waits.of_right_task[sample.wait] += task == (first ? 1 : 3) ? ns : 0;
      waits.of_tasks += ns;
      if (sample.wait == profile::Wait::kBlocked) waits.unknown += ns;
    }
    std::istringstream lines(content(out));
    std::string name;
    double ns = 0;
    while (lines >> name >> ns) waits.said[name] = ns;
    return waits;
  }
  // Every kind is told by its name and belongs to the operator whose tag was there when the thread left. What
  // a program says of its own waits holds a little more: the time until it runs again.
  void expect_all(Waits& waits) {
    std::string missing;
    for (const auto& [name, kind] : kWaits) {
      ASSERT_TRUE(waits.said.contains(name)) << name;
      const double ns = waits.said[name];
      if (ns < 0) {
        missing += " " + name;
        continue;
      }
      EXPECT_GT(waits.named[kind], 0.7 * ns) << name;
      if (kind == profile::Wait::kRunnable) continue;
      EXPECT_LT(waits.named[kind], 1.05 * ns + kSwitch * waits.count[kind]) << name;
      EXPECT_GT(waits.of_right_task[kind], 0.95 * waits.named[kind]) << name;
    }
    EXPECT_LT(waits.unknown, 0.02 * waits.of_tasks);
    if (!missing.empty()) GTEST_SKIP() << "this host does not permit or has no such waits:" << missing;
  }

  RecordOutcome outcome;
};

TEST_F(WaitsTest, HaveNamesAndOperators) {
  test::undisturbed([&] {
    profile = {};
    Waits waits = record_waits("");
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    expect_all(waits);
  });
}

// perf's sample of a switch has registers only: the slot is told by the BPF program.
TEST_F(WaitsTest, OfTagsInMemoryHaveNamesAndOperators) {
  test::undisturbed([&] {
    profile = {};
    sampled_by = capture::SampledBy::kBpf;
    Waits waits = record_waits("slot");
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    expect_all(waits);
    EXPECT_EQ(outcome.total.lost_ring, 0u);
  });
}

// The twin that must fail: without it they are nobody's, and the recording says so.
TEST_F(WaitsTest, OfTagsInMemoryAreNobodysWithoutBpf) {
  sampled_by = capture::SampledBy::kPerf;
  Waits waits = record_waits("slot");
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  EXPECT_EQ(waits.of_tasks, 0);
  EXPECT_TRUE(std::ranges::any_of(outcome.problems, [](const pipeline::Problem& problem) {
    return problem.text.find("only a BPF program reads them") != std::string::npos;
  }));
}

TEST_F(RecordTest, AnEventThatDoesNotExistIsNamed) {
  RecordOptions options;
  options.command = {"true"};
  options.output = directory + "/profile.tailor";
  options.sampling.events = {"no-such-event"};
  auto outcome = record(os::real(), options);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("no-such-event"), std::string::npos);
}

TEST_F(RecordTest, GivesTheExitCodeOfTheCommand) {
  EXPECT_EQ(run({"sh", "-c", "exit 7"}).exit_code, skipped.empty() ? 7 : 0);
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  EXPECT_EQ(run({"sh", "-c", "kill -TERM $$"}).exit_code, 128 + 15);
}

TEST_F(RecordTest, ACommandThatDoesNotExistIsNamed) {
  RecordOptions options;
  options.command = {"/nonexistent/engine"};
  options.output = directory + "/profile.tailor";
  auto outcome = record(os::real(), options);
  ASSERT_FALSE(outcome.ok());
}

TEST_F(RecordTest, AProcessThatNeverRegistersIsSampledAndSaysSo) {
  const RecordOutcome outcome = run({"sh", "-c", "i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  EXPECT_FALSE(profile.samples.empty());
  EXPECT_EQ(outcome.total.attributed, 0u);
  for (const auto& sample : profile.samples) {
    EXPECT_EQ(sample.attribution.reason, profile::Reason::kNotRegistered);
  }
}

}  // namespace
}  // namespace tailor::session
