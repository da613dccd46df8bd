// PEBS and the counter beside it on this host's timers: a host that says it has a PMU, and that counts cycles
// by the CPU's clock, one each nanosecond. Everything else is as it would be there: what `auto` selects, who
// takes the samples, what of them counts. (Only that a timer's interrupt can be masked, and a counter's not.)
#include <sys/resource.h>

#include <atomic>

#include "tests/integration/session/record_fixture.h"
#include "tests/support/fake_os.h"
#include "tests/support/forwarding_os.h"

namespace tailor::session {
namespace {

// Says it is an Intel CPU as long as it is asked what it has; the rest is this host's.
class PlayedPmu : public test::ForwardingOs {
 public:
  PlayedPmu() {
    files_.write("cpuinfo", "vendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 143\nstepping\t: 8\n");
    files_.write("bus/event_source/devices/cpu/type", "4\n");
    files_.write("bus/event_source/devices/cpu/caps/max_precise", "3\n");
  }
  const std::filesystem::path& proc() const override { return asked_ ? ForwardingOs::proc() : files_.path(); }
  const std::filesystem::path& sys() const override { return asked_ ? ForwardingOs::sys() : files_.path(); }
  Result<UniqueFd> perf_event_open(perf_event_attr& attr, pid_t pid, int cpu, int group,
                                   unsigned long flags) override {
    asked_ = true;
    perf_event_attr clock = attr;
    if (attr.type == PERF_TYPE_HARDWARE) {
      clock.type = PERF_TYPE_SOFTWARE;
      clock.config = PERF_COUNT_SW_CPU_CLOCK;
      clock.precise_ip = 0;
    }
    return ForwardingOs::perf_event_open(clock, pid, cpu, group, flags);
  }

 private:
  test::TemporaryDirectory files_;
  mutable std::atomic<bool> asked_ = false;
};

double children_ns() {
  rusage used{};
  ::getrusage(RUSAGE_CHILDREN, &used);
  const auto ns = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) * 1e9 + static_cast<double>(time.tv_usec) * 1e3;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

class TwoPartsLive : public testing::TestWithParam<capture::SampledBy> {
 protected:
  // Samples a second of three billion cycles, and here of a billion.
  static constexpr std::uint64_t kFrequency = 2000;
  static constexpr double kHz = kFrequency / 3.0;

  void run(std::vector<std::string> command) {
    std::string name = testing::TempDir() + "tailor-parts-XXXXXX";
    const std::string directory = ::mkdtemp(name.data());
    RecordOptions options;
    options.command = std::move(command);
    options.output = directory + "/profile.tailor";
    options.sampling.frequency = kFrequency;
    options.sampling.sampled_by = GetParam();
    PlayedPmu os;
    const double before = children_ns();
    auto outcome = record(os, options);
    used = children_ns() - before;
    if (!outcome.ok()) {
      skipped = test::skip_if_denied(GetParam(), capture::Placement::kAuto, outcome.error().message);
    } else {
      total = outcome->total;
      row = outcome->sampling_notes;
      auto file = store::open_file(options.output);
      ASSERT_TRUE(file.ok());
      store::ReadReport report;
      store::SaidLoss loss;
      ASSERT_TRUE(store::read_profile(**file, profile, report, loss).ok());
    }
    std::filesystem::remove_all(directory);
  }

  // Of the plan's time, in one mode of the CPU or in both: the share of task 1, and of tasks 1 and 3.
  struct Shares {
    double first = 0, both = 0, samples = 0;
  };
  Shares shares(bool kernel_only) const {
    Shares shares;
    double all = 0;
    for (const auto& sample : profile.samples) {
      if (sample.attribution.execution == 0) continue;
      if (kernel_only && sample.mode != profile::Mode::kKernel) continue;
      const auto weight = static_cast<double>(sample.weight);
      all += weight;
      ++shares.samples;
      if (sample.attribution.plan == 0) continue;
      const std::uint32_t id = sample.attribution.link >> 1;
      const std::uint32_t task = sample.attribution.level == 2 ? (id + 1) / 2 : id;
      shares.first += task == 1 ? weight : 0;
      shares.both += task == 1 || task == 3 ? weight : 0;
    }
    shares.first /= std::max(all, 1.0);
    shares.both /= std::max(all, 1.0);
    return shares;
  }

  // What all samples stand for is the time that was used: nothing twice, nothing left out.
  void expect_covered() const {
    double sum = 0, in_user_mode = 0;
    for (const auto& sample : profile.samples) {
      EXPECT_EQ(sample.source, 0u);
      sum += static_cast<double>(sample.weight);
      in_user_mode += sample.mode == profile::Mode::kUser ? 1 : 0;
    }
    const double samples = used / 1e9 * kHz;
    EXPECT_NEAR(sum / used, 1, 0.06 + test::of_count(samples)) << used / 1e6 << " ms used";
    EXPECT_EQ(total.received,
              total.attributed + total.unattributed + total.filtered + total.late + total.counted_by_other);
    // The counter sees user mode too, as often as PEBS does: by chance never where PEBS has a few samples
    // only.
    if (in_user_mode >= 20) {
      EXPECT_GT(total.counted_by_other, 0u);
    }
  }

  std::string skipped, row;
  test::CollectingSink profile;
  profile::Accounting total;
  double used = 0;
};

TEST_P(TwoPartsLive, KernelTimeHasItsTask) {
  test::undisturbed([&] {
    profile = {};
    run({std::string(TARGETS) + "/kernel_shares", "20", "100"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    EXPECT_NE(row.find("a counter of cycles beside PEBS"), std::string::npos) << row;
    const Shares kernel = shares(true);
    ASSERT_GT(kernel.samples, 0);
    EXPECT_GE(kernel.both, 0.99 - by_chance(0.99, kernel.samples));
    EXPECT_NEAR(kernel.first, 0.25, 0.02 + by_chance(0.25, kernel.samples));
    expect_covered();
  });
}

TEST_P(TwoPartsLive, TagsThatALibraryPutAsideAreFound) {
  test::undisturbed([&] {
    profile = {};
    run({std::string(TARGETS) + "/saved_register", "20", "10"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    const Shares all = shares(false);
    ASSERT_GT(all.samples, 0);
    EXPECT_GE(all.both, 0.97 - by_chance(0.97, all.samples));
    EXPECT_NEAR(all.first, 0.25, 0.02 + by_chance(0.25, all.samples));
    expect_covered();
  });
}

TEST_P(TwoPartsLive, TagsInSlotsAreReadByBpf) {
  test::undisturbed([&] {
    profile = {};
    run({std::string(TARGETS) + "/kernel_shares", "20", "100", "slot"});
    if (!skipped.empty()) GTEST_SKIP() << skipped;
    const Shares kernel = shares(true);
    ASSERT_GT(kernel.samples, 0);
    if (GetParam() != capture::SampledBy::kPerf) {
      EXPECT_GE(kernel.both, 0.99 - by_chance(0.99, kernel.samples));
    } else {
      EXPECT_EQ(kernel.both, 0);
    }
    expect_covered();
  });
}

INSTANTIATE_TEST_SUITE_P(By, TwoPartsLive,
                         testing::Values(capture::SampledBy::kAuto, capture::SampledBy::kPerf),
                         [](const auto& by) {
                           return by.param == capture::SampledBy::kPerf ? "Perf" : "Auto";
                         });

}  // namespace
}  // namespace tailor::session
