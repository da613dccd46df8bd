// Another program reads the catalogue, and does not stop: the writer goes on, and catches up afterwards.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cerrno>
#include <chrono>
#include <filesystem>

#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "tests/support/sample_profile.h"

namespace tailor::store {
namespace {

constexpr std::uint64_t kOpened = 1'700'000'000'000'000'000;
constexpr TimeNs kOneSecond = 1'000'000'000;

// A transaction that is read in for as long as this lives.
class Reader {
 public:
  explicit Reader(const std::string& path) {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &db_, SQLITE_OPEN_READONLY, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(db_, "BEGIN; SELECT count(*) FROM execution", nullptr, nullptr, nullptr),
              SQLITE_OK);
  }
  ~Reader() { sqlite3_close_v2(db_); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

 private:
  sqlite3* db_ = nullptr;
};

// Whether the catalogue has a thread of its own.
class BusyCatalogueTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    std::filesystem::remove_all(directory_);
    StoreOptions options;
    options.segment_bytes = 4096;
    options.own_thread = GetParam();
    options.on_problem = [this](const std::string& problem) { problem_ = problem; };
    auto opened = StoreWriter::open(directory_, options, kOpened);
    ASSERT_TRUE(opened) << opened.error().message;
    writer_ = std::move(*opened);
    test::give_profile(*writer_, 20);
    ASSERT_TRUE(writer_->flush());
  }
  void TearDown() override {
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }

  // Each round of the catalogue is over before the next second.
  void work(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += kOneSecond;
      writer_->on_watermark(now_);
      if (GetParam()) (void)writer_->flush();
    }
  }
  void begin_execution(ExecutionHandle handle) {
    profile::ExecutionRecord execution;
    execution.process = test::kSampleProcess;
    execution.plan = test::kSamplePlan;
    execution.handle = handle;
    execution.id.bytes[0] = static_cast<std::uint8_t>(handle);
    execution.begin = now_;
    writer_->on_execution(execution);
  }
  std::size_t listed() const {
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue);
    auto rows = catalogue->executions(100);
    EXPECT_TRUE(rows);
    return rows->size();
  }

  const std::string directory_ = testing::TempDir() + "/busy_catalogue";
  std::unique_ptr<StoreWriter> writer_;
  std::string problem_;
  TimeNs now_ = 100 * kOneSecond;  // later than all of the profile
};

TEST_P(BusyCatalogueTest, TheWriterGoesOnAndCatchesUp) {
  const std::size_t before = listed();
  const auto began = std::chrono::steady_clock::now();
  {
    Reader reader(catalogue_path(directory_));
    for (ExecutionHandle handle = 50; handle < 70; ++handle) {
      begin_execution(handle);
      work(1);
    }
    const Status flushed = writer_->flush();
    ASSERT_FALSE(flushed.ok());
    EXPECT_EQ(flushed.error().code, EBUSY);
  }
  // It waited two seconds in each of these rounds.
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(20));
  EXPECT_EQ(problem_, "");
  work(2);
  EXPECT_TRUE(writer_->flush());
  EXPECT_EQ(listed(), before + 20);
  EXPECT_TRUE(writer_->finish());
}

TEST_P(BusyCatalogueTest, WhoReadsAllTheTimeIsTold) {
  {
    Reader reader(catalogue_path(directory_));
    begin_execution(50);
    work(40);
    EXPECT_NE(problem_.find("reads it all the time"), std::string::npos) << problem_;
  }
  work(2);
  EXPECT_EQ(problem_, "");
}

// What was noted while nothing could be entered is entered once.
TEST_P(BusyCatalogueTest, CostsAreEnteredOnce) {
  begin_execution(50);
  const profile::SampleRecord sample = [&] {
    profile::SampleRecord one = test::ir_sample(now_, 1);
    one.attribution.execution = 50;
    return one;
  }();
  const auto cost = [&]() -> std::uint64_t {
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    for (const ExecutionRow& row : *catalogue->executions(100)) {
      if (row.record.handle == 50) return row.cost.samples;
    }
    return 0;
  };
  {
    Reader reader(catalogue_path(directory_));
    for (int second = 0; second < 5; ++second) {
      writer_->on_samples({&sample, 1});
      work(1);
    }
    ASSERT_FALSE(writer_->flush());
  }
  writer_->on_samples({&sample, 1});
  ASSERT_TRUE(writer_->flush());
  EXPECT_EQ(cost(), 6u);
  ASSERT_TRUE(writer_->flush());
  EXPECT_EQ(cost(), 6u);
}

INSTANTIATE_TEST_SUITE_P(Threads, BusyCatalogueTest, testing::Bool());

}  // namespace
}  // namespace tailor::store
