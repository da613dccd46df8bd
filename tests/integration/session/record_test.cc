// The whole way on this host: an engine of a known shape is launched, registers, is sampled and attributed.
#include "daemon/session/record.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "daemon/journal/replay.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/collecting_sink.h"

namespace tailor::session {
namespace {

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    std::string name = testing::TempDir() + "tailor-record-XXXXXX";
    directory = ::mkdtemp(name.data());
  }
  ~RecordTest() override { std::filesystem::remove_all(directory); }

  // Records the command; skips the test where sampling is denied.
  RecordOutcome run(std::vector<std::string> command, const std::string& journal = {}) {
    RecordOptions options;
    options.command = std::move(command);
    options.output = directory + "/profile.tailor";
    options.journal = journal;
    options.frequency = 2000;
    options.events = events;
    options.sampled_by = sampled_by;
    options.stacks = stacks;
    options.aggregate = aggregate;
    auto outcome = record(os::real(), options);
    if (!outcome.ok()) {
      skipped = outcome.error().message;
      return {};
    }
    read(options.output);
    return *outcome;
  }
  void read(const std::string& path) {
    auto file = store::open_file(path);
    ASSERT_TRUE(file.ok());
    store::ReadReport report;
    store::SaidLoss loss;
    ASSERT_TRUE(store::read_profile(**file, profile, report, loss).ok());
  }
  static std::string content(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string directory, skipped;
  std::vector<std::string> events = {"cpu-clock"};
  capture::SampledBy sampled_by = capture::SampledBy::kAuto;
  capture::Stacks stacks = capture::Stacks::kNone;
  TimeNs aggregate = 0;
  test::CollectingSink profile;
};

// The task of a sample: 1, 2, 3, or 0.
int task_of(const store::SampleRecord& sample) {
  const attribute::Attribution& word = sample.attribution;
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
  const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "10", "20"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  EXPECT_EQ(outcome.exit_code, 0);
  std::map<int, double> weight;
  double inside = 0;
  std::map<attribute::Quality, double> quality;
  std::map<ExecutionHandle, std::set<std::int32_t>> threads;
  for (const auto& sample : profile.samples) {
    if (sample.attribution.execution == 0) continue;
    weight[task_of(sample)] += static_cast<double>(sample.weight);
    if (sample.attribution.how == attribute::How::kCode) quality[sample.attribution.quality] += 1;
    inside += static_cast<double>(sample.weight);
    threads[sample.attribution.execution].insert(sample.tid);
  }
  ASSERT_GT(profile.samples.size(), 500u);
  EXPECT_NEAR(weight[1] / inside, 1.0 / 8, 0.03);
  EXPECT_NEAR(weight[2] / inside, 3.0 / 8, 0.03);
  EXPECT_NEAR(weight[3] / inside, 4.0 / 8, 0.03);
  EXPECT_GE((weight[1] + weight[2] + weight[3]) / inside, 0.98);
  // What the row table says of the address comes with the sample: of task 2's that it is inferred.
  const double of_code = quality[attribute::Quality::kExact] + quality[attribute::Quality::kInferred];
  EXPECT_NEAR(quality[attribute::Quality::kExact] / of_code, 1.0 / 4, 0.05);
  EXPECT_EQ(quality.size(), 2u);
  EXPECT_EQ(threads.size(), 20u);
  for (const auto& [execution, tids] : threads) EXPECT_EQ(tids.size(), 1u) << execution;
  EXPECT_EQ(outcome.total.received, outcome.total.attributed + outcome.total.unattributed +
                                        outcome.total.filtered + outcome.total.late);
  EXPECT_EQ(outcome.samples_written, profile.samples.size());
  EXPECT_EQ(outcome.total.messages_rejected, 0u);
  EXPECT_EQ(profile.executions.size(), 20u);
  EXPECT_EQ(profile.recording.sources.size(), 1u);
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
std::map<int, double> shares_of(const std::vector<store::SampleRecord>& samples) {
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
  sampled_by = capture::SampledBy::kBpf;
  stacks = capture::Stacks::kAdaptive;
  aggregate = 300'000'000;
  const std::string journal = directory + "/journal";
  const RecordOutcome outcome = run({std::string(TARGETS) + "/known_shares", "2", "10", "20"}, journal);
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  auto shares = shares_of(profile.samples);
  EXPECT_NEAR(shares[1], 1.0 / 8, 0.03);
  EXPECT_NEAR(shares[2], 3.0 / 8, 0.03);
  EXPECT_NEAR(shares[3], 4.0 / 8, 0.03);
  EXPECT_GE(shares[1] + shares[2] + shares[3], 0.98);
  double weight = 0;
  for (const auto& sample : profile.samples) weight += static_cast<double>(sample.weight);
  const double samples = weight / static_cast<double>(profile.recording.sources.front().period);
  EXPECT_GT(samples, 500);
  EXPECT_LT(static_cast<double>(profile.samples.size()), samples / 2) << "they are added up";
  EXPECT_EQ(outcome.total.received, outcome.total.attributed + outcome.total.unattributed +
                                        outcome.total.filtered + outcome.total.late);
  EXPECT_EQ(outcome.total.late + outcome.total.lost_ring, 0u);
  EXPECT_EQ(profile.recording.aggregated_ns, static_cast<std::uint64_t>(aggregate));
  auto report = journal::replay_file(journal, directory + "/again.tailor");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(content(directory + "/profile.tailor") == content(directory + "/again.tailor"));
}

// Of the samples in kernel mode: weight by task, and that of all.
struct KernelShares {
  std::map<int, double> of_task;
  double all = 0;
};
KernelShares kernel_shares(const std::vector<store::SampleRecord>& samples) {
  KernelShares shares;
  for (const auto& sample : samples) {
    if (sample.mode != capture::Mode::kKernel || sample.attribution.execution == 0) continue;
    const auto weight = static_cast<double>(sample.weight);
    shares.all += weight;
    if (sample.attribution.how == attribute::How::kKernelTag) shares.of_task[task_of(sample)] += weight;
  }
  return shares;
}

TEST_P(RecordBy, KernelTimeGoesToTheTaskThatCausedIt) {
  const RecordOutcome outcome = run({std::string(TARGETS) + "/kernel_shares", "20", "100"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  EXPECT_GT(shares.all, 200e6) << "nanoseconds in the kernel, for enough samples to judge";
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.99);
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.05);
  EXPECT_NE(outcome.capture_row.find(sampled_by == capture::SampledBy::kBpf ? "cpu-clock by BPF"
                                                                            : "cpu-clock by perf"),
            std::string::npos);
}

// The twin that must fail: without the tag nothing says on whose behalf the kernel runs.
TEST_P(RecordBy, KernelTimeWithoutATagIsNobodys) {
  run({std::string(TARGETS) + "/kernel_shares", "20", "50", "untagged"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  EXPECT_GT(shares.all, 100e6);
  EXPECT_EQ(shares.of_task[1] + shares.of_task[3], 0);
}

// A tag in memory is read by whoever is there at the moment of the sample: the BPF program.
TEST_P(RecordBy, ATagInAMemorySlotIsReadByBpfAlone) {
  const RecordOutcome outcome = run({std::string(TARGETS) + "/kernel_shares", "20", "100", "slot"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  EXPECT_GT(shares.all, 200e6);
  const bool said = std::ranges::any_of(outcome.problems, [](const Problem& problem) {
    return problem.text.find("it keeps tags in memory slots, and only a BPF program reads them") !=
           std::string::npos;
  });
  if (sampled_by == capture::SampledBy::kBpf) {
    EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.99);
    EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.05);
    EXPECT_FALSE(said);
  } else {
    EXPECT_EQ(shares.of_task[1] + shares.of_task[3], 0);
    EXPECT_TRUE(said);
  }
}

// Software events: page faults, which the kernel takes while it copies into pages it had given up.
TEST_P(RecordBy, FaultsGoToTheTaskThatCausedThem) {
  events = {"page-faults"};
  run({std::string(TARGETS) + "/kernel_shares", "5", "20"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  KernelShares shares = kernel_shares(profile.samples);
  EXPECT_GT(shares.all, 5000) << "faults";
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.99);
  // The tasks take turns by time, and a host that is slow for a while takes fewer faults in it.
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.05);
}

// Time of samples in executions by task, and how much of it is known by a tag that was put aside.
struct SavedShares {
  std::map<int, double> of_task;
  double all = 0, unwound = 0;
};
SavedShares saved_shares(const std::vector<store::SampleRecord>& samples) {
  SavedShares shares;
  for (const auto& sample : samples) {
    if (sample.attribution.execution == 0) continue;
    const auto weight = static_cast<double>(sample.weight);
    shares.all += weight;
    shares.of_task[task_of(sample)] += weight;
    if (sample.attribution.how == attribute::How::kTagUnwound) shares.unwound += weight;
  }
  return shares;
}

TEST_P(RecordBy, ATagThatALibraryPutAsideIsFoundAndNoStackIsKept) {
  stacks = sampled_by == capture::SampledBy::kBpf ? capture::Stacks::kAdaptive : capture::Stacks::kAlways;
  const std::string journal = directory + "/journal";
  run({std::string(TARGETS) + "/saved_register", "20", "10"}, journal);
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  SavedShares shares = saved_shares(profile.samples);
  EXPECT_GT(shares.all, 100e6);
  EXPECT_GE(shares.unwound / shares.all, 0.95);
  EXPECT_GE((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.98);
  EXPECT_NEAR(shares.of_task[1] / shares.all, 0.25, 0.05);
  EXPECT_EQ(content(journal).find("SECRET-ON-THE-STACK"), std::string::npos);
  EXPECT_EQ(content(directory + "/profile.tailor").find("SECRET-ON-THE-STACK"), std::string::npos);
  auto report = journal::replay_file(journal, directory + "/again.tailor");
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_TRUE(content(directory + "/profile.tailor") == content(directory + "/again.tailor"));
}

// The twin that must fail: without stacks the tag is out of reach.
TEST_P(RecordBy, WithoutStacksATagThatALibraryPutAsideIsLost) {
  run({std::string(TARGETS) + "/saved_register", "20", "5"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  SavedShares shares = saved_shares(profile.samples);
  EXPECT_GT(shares.all, 50e6);
  EXPECT_LT((shares.of_task[1] + shares.of_task[3]) / shares.all, 0.05);
}

TEST_F(RecordTest, BpfFollowsChildrenAndCountsLikePerf) {
  const std::vector<std::string> command = {"sh", "-c",
                                            "sh -c 'i=0; while [ $i -lt 300000 ]; do i=$((i+1)); done'; :"};
  std::map<capture::SampledBy, double> seconds;
  for (auto by : {capture::SampledBy::kPerf, capture::SampledBy::kBpf}) {
    sampled_by = by;
    profile = {};
    const RecordOutcome outcome = run(command);
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    std::set<std::int32_t> processes;
    for (const auto& sample : profile.samples) {
      seconds[by] += static_cast<double>(sample.weight) / 1e9;
      processes.insert(sample.process.pid);
    }
    EXPECT_GE(processes.size(), 1u);
    EXPECT_EQ(outcome.total.lost_ring, 0u);
  }
  EXPECT_GT(seconds[capture::SampledBy::kPerf], 0.1);
  const double ratio = seconds[capture::SampledBy::kBpf] / seconds[capture::SampledBy::kPerf];
  EXPECT_GT(ratio, 0.5);
  EXPECT_LT(ratio, 2.0);
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
  EXPECT_NE(outcome.capture_row.find("every page fault"), std::string::npos);
}

TEST_F(RecordTest, TimeOffCpuIsALaneOfItsOwn) {
  events = {"off-cpu"};
  run({std::string(TARGETS) + "/naps", "50", "2000"});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  std::uint64_t away = 0, naps = 0;
  for (const auto& sample : profile.samples) {
    if (profile.recording.sources.at(sample.source).unit != capture::Unit::kNsOffCpu) continue;
    away += sample.weight;
    ++naps;
  }
  EXPECT_GE(naps, 50u);
  EXPECT_GE(away, 50u * 2'000'000);
}

// Every kind of wait is told by its name and belongs to the operator whose tag was in the register when the
// thread left. What a program says of its own waits holds a little more: the time until it runs again.
TEST_F(RecordTest, WaitsHaveNamesAndOperators) {
  events = {"off-cpu"};
  const std::string out = directory + "/waits";
  const RecordOutcome outcome = run({"sh", "-c", std::string(TARGETS) + "/known_waits 40 2000 > " + out});
  if (!skipped.empty()) GTEST_SKIP() << skipped;
  if (outcome.capture_row.find("waits are not named") != std::string::npos)
    GTEST_SKIP() << outcome.capture_row;
  using capture::Wait;
  std::map<Wait, double> named, of_right_task;
  double tagged = 0, unknown = 0;
  for (const auto& sample : profile.samples) {
    const auto ns = static_cast<double>(sample.weight);
    const int task = task_of(sample);
    if (task == 0) continue;  // other threads, and what the agent does
    const bool first = sample.wait == Wait::kLock || sample.wait == Wait::kPage;
    named[sample.wait] += ns;
    of_right_task[sample.wait] += task == (first ? 1 : 3) ? ns : 0;
    tagged += ns;
    if (sample.wait == Wait::kBlocked) unknown += ns;
  }
  std::istringstream lines(content(out));
  std::string name;
  double ns = 0;
  std::map<std::string, Wait> kinds = {{"lock", Wait::kLock},
                                       {"sleep", Wait::kSleep},
                                       {"peer", Wait::kPeer},
                                       {"page_fault", Wait::kPage},
                                       {"run_queue", Wait::kRunnable}};
  int checked = 0;
  while (lines >> name >> ns) {
    const Wait kind = kinds.at(name);
    EXPECT_GT(named[kind], 0.7 * ns) << name;
    if (kind != Wait::kRunnable) {
      EXPECT_LT(named[kind], 1.05 * ns) << name;
      EXPECT_GT(of_right_task[kind], 0.95 * named[kind]) << name;
    }
    ++checked;
  }
  EXPECT_GE(checked, 4);
  EXPECT_LT(unknown, 0.02 * tagged);
}

TEST_F(RecordTest, AnEventThatDoesNotExistIsNamed) {
  events = {"no-such-event"};
  run({"true"});
  EXPECT_NE(skipped.find("no-such-event"), std::string::npos);
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
  EXPECT_GT(profile.samples.size(), 10u);
  EXPECT_EQ(outcome.total.attributed, 0u);
  for (const auto& sample : profile.samples) {
    EXPECT_EQ(sample.attribution.reason, attribute::Reason::kNotRegistered);
  }
}

}  // namespace
}  // namespace tailor::session
