#include "tests/unit/serve/compaction_fixture.h"

#include <filesystem>
#include <utility>
#include <vector>

#include "daemon/serve/stored_sums.h"

namespace tailor::serve {
namespace {

namespace fs = std::filesystem;

profile::ExecutionRecord other_execution() {
  profile::ExecutionRecord execution;
  execution.process = test::kSampleProcess;
  execution.handle = kOther;
  execution.id.bytes.fill(0xE2);
  execution.plan = test::kSamplePlan;
  execution.begin = test::kSampleStart;
  execution.uid = 1000;
  execution.labels = {{"fingerprint", kOtherFingerprint}};
  return execution;
}

}  // namespace

void CompactionTest::SetUp() {
  const auto* test = testing::UnitTest::GetInstance()->current_test_info();
  directory_ = testing::TempDir() + "/" + test->test_suite_name() + "_" + test->name();
  fs::remove_all(directory_);
}

void CompactionTest::TearDown() {
  fs::remove_all(directory_);
}

store::StoreOptions CompactionTest::options() {
  store::StoreOptions options;
  options.segment_time = 10 * kMinute;
  options.keep_ns = 0;
  options.summaries = true;
  return options;
}

std::unique_ptr<store::StoreWriter> CompactionTest::open(const store::StoreOptions& options) {
  auto writer = store::StoreWriter::open(directory_, options, kWall);
  EXPECT_TRUE(writer) << (writer ? "" : writer.error().message);
  return writer ? std::move(*writer) : nullptr;
}

void CompactionTest::give_hours(profile::ProfileSink& sink, int minutes) {
  test::give_context(sink);
  sink.on_execution(other_execution());
  profile::Accounting account;
  account.process = test::kSampleProcess;
  for (int minute = 0; minute < minutes; ++minute) {
    TimeNs time = test::kSampleStart + minute * kMinute;
    std::vector<profile::SampleRecord> samples;
    for (std::uint32_t ir = 0; ir <= 10; ++ir) samples.push_back(test::ir_sample(time += 1'000'003, ir));
    samples.push_back(test::shared_sample(time += 999'998));
    samples.push_back(test::tag_sample(time += 1'000'001, 6));
    samples.push_back(test::component_sample(time += 1'000'000, 1));
    samples.push_back(test::unattributed_sample(time += 1'000'000, profile::Reason::kUnknownKernel));
    samples.push_back(test::unattributed_sample(time += 1'000'000, profile::Reason::kNotRegistered));
    samples.back().attribution.execution = 0;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      samples[i].weight += static_cast<std::uint64_t>(minute);
      const bool others = i % 3 == 0 && minute < minutes / 2;
      if (others && samples[i].attribution.execution != 0) samples[i].attribution.execution = kOther;
    }
    sink.on_samples(samples);
    account.received += samples.size();
    account.lost_ring += 3;
    account.late += static_cast<std::uint64_t>(minute % 2);
    sink.on_accounting(account);
    if (minute + 1 == minutes / 2) {
      profile::ExecutionRecord ended = other_execution();
      ended.end = time;
      sink.on_execution(ended);
    }
    sink.on_watermark(time);
  }
}

store::Summary CompactionTest::sums() const {
  const Stop stop;
  auto sum = sums_of_store(directory_, {}, stop);
  EXPECT_TRUE(sum) << sum.error().message;
  return sum ? std::move(*sum) : store::Summary();
}

void CompactionTest::compact(store::StoreWriter& writer, store::SummaryWriter& summaries) const {
  const Stop stop;
  for (int round = 0; round < 100; ++round) {
    const auto due = writer.due_for_summary();
    if (!due || due->empty()) return;
    const auto last = sum_up(directory_, *due, summaries, retention_, stop);
    if (last) (void)writer.summed_up(*last);
  }
}

}  // namespace tailor::serve
