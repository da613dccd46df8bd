// Retention where sums cannot be written: they are tried first, then what is due goes without them, counted.
#include "daemon/tailord/compactor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <limits>
#include <thread>

#include "daemon/serve/stored_sums.h"
#include "daemon/store/store_directory.h"
#include "tests/support/forwarding_files.h"
#include "tests/support/sample_profile.h"

namespace tailor::tailord {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr TimeNs kSecond = 1'000'000'000;
constexpr int kSeconds = 12;

// A disk on which no new file can be made, so that no sums can be written; counts the attempts.
class NoNewFiles : public test::ForwardingFiles {
 public:
  std::atomic<bool> broken = true;
  std::atomic<int> attempts = 0;

  Result<UniqueFd> create(const std::string& path, mode_t mode) override {
    ++attempts;
    if (broken) return Error{"No space left on device", ENOSPC};
    return ForwardingFiles::create(path, mode);
  }
};

class CompactorTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/compactor_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(directory_);
    open();
    test::give_context(*writer_);
    for (int second = 0; second < kSeconds; ++second) {
      std::vector<profile::SampleRecord> samples;
      for (TimeNs i = 0; i < 10; ++i)
        samples.push_back(test::ir_sample(test::kSampleStart + second * kSecond + i * kSecond / 10, 1));
      writer_->on_samples(samples);
      writer_->on_watermark(samples.back().time);
    }
    ASSERT_TRUE(writer_->flush());
    for (const store::SegmentRow& row : *writer_->due_for_summary()) due_samples_ += row.samples;
    ASSERT_GT(due_samples_, 0u);
  }
  void TearDown() override {
    compactor_.reset();
    writer_.reset();
    fs::remove_all(directory_);
  }

  // Everything that is sealed is due.
  void open() {
    store::StoreOptions options;
    options.segment_time = 2 * kSecond;
    options.keep_bytes = 1;
    options.summaries = true;
    auto opened = store::StoreWriter::open(directory_, options, kWall);
    ASSERT_TRUE(opened) << opened.error().message;
    writer_ = std::move(*opened);
  }
  void start(unsigned patience) {
    CompactorOptions options;
    options.period = std::chrono::milliseconds(1);
    options.patience = patience;
    options.files = &files_;
    compactor_ = std::make_unique<Compactor>(directory_, options, *writer_);
  }
  // Waits for as long as the test may take.
  void wait_until(const std::function<bool()>& holds) {
    for (;;) {
      if (holds()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  std::size_t data_files() const {
    const auto files = store::list_segments(directory_);
    return static_cast<std::size_t>(
        std::ranges::count(*files, store::FileKind::kDataSegment, &store::SegmentFile::kind));
  }
  std::uint64_t unwritten() const {
    Stop stop;
    auto sums = serve::sums_of_store(directory_, {}, stop);
    EXPECT_TRUE(sums) << sums.error().message;
    std::uint64_t count = 0;
    for (const auto& [hour, loss] : sums->losses) count += loss.unwritten;
    return count;
  }

  std::string directory_;
  std::uint64_t due_samples_ = 0;
  NoNewFiles files_;
  std::unique_ptr<store::StoreWriter> writer_;
  std::unique_ptr<Compactor> compactor_;
};

TEST_F(CompactorTest, WhatIsDueGoesWithoutSumsWhereNoneCanBeWritten) {
  start(3);
  wait_until([&] { return writer_->given_up().samples == due_samples_; });
  EXPECT_GE(files_.attempts, 3) << "sums are tried first";
  EXPECT_EQ(data_files(), 1u) << "the one that is being written";
  wait_until([&] {
    (void)writer_->flush();
    return writer_->last_problem().find("deleted without sums") != std::string::npos;
  });
  EXPECT_EQ(unwritten(), due_samples_) << "whoever adds up is told what is missing";
}

TEST_F(CompactorTest, TheNextSumsCountWhatIsMissing) {
  start(3);
  wait_until([&] { return writer_->given_up().samples == due_samples_; });
  // Another daemon knows it too.
  compactor_.reset();
  EXPECT_FALSE(writer_->finish()) << "it says that there are no sums";
  writer_.reset();
  open();
  files_.broken = false;
  start(3);
  wait_until([&] { return writer_->due_for_summary()->empty(); });
  EXPECT_EQ(unwritten(), due_samples_);
  EXPECT_EQ(writer_->given_up().samples, 0u) << "nothing more";
}

// The twin: without an end of its patience nothing is deleted, however often it fails.
TEST_F(CompactorTest, NothingGoesWhilePatienceLasts) {
  const std::size_t files = data_files();
  start(std::numeric_limits<unsigned>::max());
  wait_until([&] { return files_.attempts > 50; });
  EXPECT_EQ(data_files(), files);
  EXPECT_EQ(writer_->given_up().samples, 0u);
  EXPECT_EQ(unwritten(), 0u);
}

TEST_F(CompactorTest, SumsThatCanBeWrittenAreNotGivenUp) {
  files_.broken = false;
  start(1);
  wait_until([&] { return writer_->due_for_summary()->empty(); });
  EXPECT_EQ(data_files(), 1u);
  EXPECT_EQ(writer_->given_up().samples, 0u);
  EXPECT_EQ(unwritten(), 0u);
}

}  // namespace
}  // namespace tailor::tailord
