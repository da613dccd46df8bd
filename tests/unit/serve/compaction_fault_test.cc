// Compaction and retention where the disk fails or the daemon dies: no sample is lost or counted twice.
#include <cmath>
#include <filesystem>
#include <string>

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
  static void give_up_all(store::StoreWriter& writer) {
    for (auto more = writer.give_up_oldest(); more && *more;) more = writer.give_up_oldest();
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
  const auto accounted = [&] {
    const store::Summary sum = sums();
    double samples = 0;
    for (const auto& [key, cost] : sum.costs) samples += store::to_number(cost.samples);
    for (const auto& [hour, loss] : sum.losses) samples += static_cast<double>(loss.unwritten);
    return std::llround(samples);
  };
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

}  // namespace
}  // namespace tailor::serve
