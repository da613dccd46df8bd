// Compaction and retention where the disk fails or the daemon dies: no sample is lost or counted twice.
#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "daemon/store/store_directory.h"
#include "daemon/store/summary_codec.h"
#include "tests/support/failing_files.h"
#include "tests/unit/serve/compaction_fixture.h"

namespace tailor::serve {
namespace {

namespace fs = std::filesystem;
using test::FailingFiles;
using test::Fault;

class CompactionFaultTest : public CompactionTest {
 protected:
  // Samples that are in a sum, or that sums count as unwritten.
  long long accounted() const {
    const store::Summary sum = sums();
    double samples = 0;
    for (const auto& [key, cost] : sum.costs) samples += store::to_number(cost.samples);
    for (const auto& [hour, loss] : sum.losses) samples += static_cast<double>(loss.unwritten);
    return std::llround(samples);
  }
  static void give_up_all(store::StoreWriter& writer) {
    for (auto more = writer.give_up_some(); more && *more;) more = writer.give_up_some();
  }
};

// A disk that fails, or a daemon that dies, at any call of compaction: the sums of the store stay what they
// were.
TEST_F(CompactionFaultTest, AFaultAtEveryCallNeitherLosesNorDoubles) {
  retention_.merge_bytes = 1u << 20;
  const std::string original = directory_ + "_original";
  fs::remove_all(original);
  {
    store::StoreOptions few = options();
    few.segment_time = 20 * kMinute;
    auto writer = open(few);
    give_hours(*writer, 50);
    ASSERT_TRUE(writer->finish());
  }
  fs::rename(directory_, original);
  const auto have = [&] {
    store::Summary sum = sums();
    sum.first = sum.last = 0;
    return *encode(bounded(sum));
  };
  fs::copy(original, directory_);
  const std::string want = have();
  for (const Fault fault :
       {Fault::kNoSpace, Fault::kFull, Fault::kIo, Fault::kKill, Fault::kDead, Fault::kShort}) {
    std::uint64_t at = 1;
    for (bool reached = true; reached; ++at) {
      fs::remove_all(directory_);
      fs::copy(original, directory_);
      {
        FailingFiles files(fault, at);
        store::StoreOptions with = options();
        with.files = &files;
        with.keep_bytes = 1;
        auto writer = store::StoreWriter::open(directory_, with, kWall);
        if (writer) {
          store::SummaryWriter summaries(directory_, files);
          compact(**writer, summaries);
        }
        reached = files.calls() >= at;
      }
      ASSERT_EQ(have(), want) << "fault " << static_cast<int>(fault) << " at call " << at;
      // Another daemon goes on.
      store::StoreOptions with = options();
      with.keep_bytes = 1;
      auto writer = open(with);
      ASSERT_NE(writer, nullptr);
      store::SummaryWriter summaries(directory_);
      compact(*writer, summaries);
      ASSERT_TRUE(writer->due_for_summary()->empty());
      ASSERT_EQ(have(), want) << "fault " << static_cast<int>(fault) << " at call " << at;
    }
    EXPECT_GT(at, 20u) << "there are so many calls";
  }
  fs::remove_all(original);
}

// Where sums cannot be written, segments go without them: at whatever call the disk fails or the daemon dies,
// each sample is in a sum or counted as unwritten.
TEST_F(CompactionFaultTest, WhatIsGivenUpIsCounted) {
  const std::string original = directory_ + "_original";
  fs::remove_all(original);
  {
    store::StoreOptions few = options();
    few.segment_time = 10 * kMinute;
    auto writer = open(few);
    give_hours(*writer, 50);
    ASSERT_TRUE(writer->finish());
  }
  fs::rename(directory_, original);
  fs::copy(original, directory_);
  const long long all = accounted();
  ASSERT_GT(all, 0);
  for (const Fault fault : {Fault::kNoSpace, Fault::kFull, Fault::kIo, Fault::kKill, Fault::kDead}) {
    std::uint64_t at = 1;
    for (bool reached = true; reached; ++at) {
      fs::remove_all(directory_);
      fs::copy(original, directory_);
      store::StoreOptions with = options();
      with.keep_bytes = 1;
      {
        FailingFiles files(fault, at);
        with.files = &files;
        auto writer = store::StoreWriter::open(directory_, with, kWall);
        if (writer) {
          give_up_all(**writer);
        }
        reached = files.calls() >= at;
      }
      ASSERT_EQ(accounted(), all) << "fault " << static_cast<int>(fault) << " at call " << at;
      with.files = &os::real_files();
      auto writer = open(with);
      ASSERT_NE(writer, nullptr);
      give_up_all(*writer);
      ASSERT_EQ(accounted(), all) << "fault " << static_cast<int>(fault) << " at call " << at;
      store::SummaryWriter summaries(directory_);
      compact(*writer, summaries);
      ASSERT_TRUE(writer->due_for_summary()->empty());
      ASSERT_EQ(accounted(), all) << "fault " << static_cast<int>(fault) << " at call " << at;
    }
    EXPECT_GT(at, 20u) << "there are so many calls";
  }
  fs::remove_all(original);
}

// What was cut out of a segment of several users counts as unwritten too, also when the rest of it goes
// later.
TEST_F(CompactionFaultTest, WhatIsCutOutWithoutSumsIsCounted) {
  constexpr std::uint32_t kHeavy = 40'002, kModest = 40'001;  // not those of a user that runs the tests
  store::StoreOptions few = options();
  few.segment_time = 10 * kMinute;
  {
    auto writer = open(few);
    test::give_context(*writer);
    for (const std::uint32_t uid : {kHeavy, kModest}) {
      profile::ProcessRecord process;
      process.process = {static_cast<std::int32_t>(uid), 1};
      process.uid = uid;
      writer->on_process(process);
    }
    std::mt19937_64 random(1);
    TimeNs time = test::kSampleStart;
    for (int minute = 0; minute < 50; ++minute, time += kMinute) {
      std::vector<profile::SampleRecord> samples;
      for (TimeNs i = 0; i < 40; ++i) {
        samples.push_back(test::unattributed_sample(time + i, profile::Reason::kNotRegistered));
        samples.back().attribution.execution = 0;
        samples.back().ip = random();  // so that samples are most of the store
        samples.back().tag = random();
        samples.back().process = {static_cast<std::int32_t>(i % 4 == 0 ? kModest : kHeavy), 1};
      }
      writer->on_samples(samples);
      writer->on_watermark(time + kMinute / 2);
    }
    ASSERT_TRUE(writer->finish());
  }
  const long long all = accounted();
  ASSERT_EQ(all, 50 * 40);
  // It is too large by a little, and then by nearly all of it.
  store::StoreOptions with = options();
  with.keep_bytes = 0;
  const auto files = store::list_segments(directory_);
  for (const store::SegmentFile& file : *files) with.keep_bytes += file.bytes;
  with.keep_bytes -= with.keep_bytes / 16;
  auto writer = open(with);
  ASSERT_NE(writer, nullptr);
  const auto first = writer->give_up_some();
  ASSERT_TRUE(first && *first);
  EXPECT_EQ(accounted(), all);
  ASSERT_EQ(writer->cuts()->size(), 1u);
  EXPECT_EQ(writer->cuts()->front().uid, kHeavy) << "the one with most goes first";
  writer->set_retention(1, 0, 0);
  for (bool more = true; more;) {
    const auto some = writer->give_up_some();
    ASSERT_TRUE(some) << some.error().message;
    more = *some;
    ASSERT_EQ(accounted(), all);
  }
  EXPECT_EQ(writer->given_up().samples, static_cast<std::uint64_t>(all)) << "each of them once";
}

}  // namespace
}  // namespace tailor::serve
