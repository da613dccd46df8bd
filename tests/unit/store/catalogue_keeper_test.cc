// The thread that gives a store its samples does not wait for what takes long: the catalogue, and the disk
// when it syncs.
#include "daemon/store/catalogue_keeper.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>

#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "tests/support/forwarding_files.h"
#include "tests/support/sample_profile.h"

namespace tailor::store {
namespace {

constexpr std::uint64_t kKeptSince = 1'700'000'000'000'000'000;
constexpr TimeNs kASecond = 1'000'000'000;

// A disk whose syncs take until somebody lets them go on.
class SlowDisk : public test::ForwardingFiles {
 public:
  Status sync(int fd) override {
    std::unique_lock lock(mutex_);
    by_ = std::this_thread::get_id();
    ++waiting_;
    changed_.notify_all();
    changed_.wait(lock, [this] { return !slow_; });
    --waiting_;
    return ForwardingFiles::sync(fd);
  }
  void set_slow(bool slow) {
    std::lock_guard lock(mutex_);
    slow_ = slow;
    changed_.notify_all();
  }
  void wait_for_sync() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return waiting_ > 0; });
  }
  std::thread::id by() const {
    std::lock_guard lock(mutex_);
    return by_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool slow_ = false;
  int waiting_ = 0;
  std::thread::id by_;
};

class CatalogueKeeperTest : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::remove_all(directory_); }
  void TearDown() override {
    disk_.set_slow(false);
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }
  void open(StoreOptions options) {
    options.files = &disk_;
    auto opened = StoreWriter::open(directory_, options, kKeptSince);
    ASSERT_TRUE(opened) << opened.error().message;
    writer_ = std::move(*opened);
    test::give_profile(*writer_, 20);
    ASSERT_TRUE(writer_->flush());
  }
  void samples(int seconds) {
    for (int i = 0; i < seconds; ++i) {
      now_ += kASecond;
      const profile::SampleRecord one = test::ir_sample(now_, 1);
      writer_->on_samples({&one, 1});
      writer_->on_watermark(now_);
    }
  }
  std::vector<SegmentRow> rows() const {
    auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kRead);
    return *catalogue->segments();
  }

  const std::string directory_ = testing::TempDir() + "/catalogue_keeper";
  SlowDisk disk_;
  std::unique_ptr<StoreWriter> writer_;
  TimeNs now_ = 100 * kASecond;
};

TEST_F(CatalogueKeeperTest, NobodyWaitsForTheDisk) {
  StoreOptions options;
  options.own_thread = true;
  options.sync_interval = kASecond;
  options.segment_time = 5 * kASecond;
  open(options);
  const std::uint64_t before = writer_->stats().samples;
  disk_.set_slow(true);
  samples(3);
  disk_.wait_for_sync();
  // Segments end and begin meanwhile.
  samples(20);
  disk_.set_slow(false);
  ASSERT_TRUE(writer_->flush());
  EXPECT_EQ(writer_->stats().samples, before + 23);
  EXPECT_NE(disk_.by(), std::this_thread::get_id());
  const auto known = rows();
  std::uint64_t entered = 0, sealed = 0;
  for (const SegmentRow& row : known) {
    entered += row.samples;
    sealed += row.sealed ? 1 : 0;
  }
  EXPECT_EQ(entered, before + 23);
  EXPECT_GE(sealed, 3u);
  ASSERT_TRUE(writer_->finish());
}

// The broken twin: without that thread the caller waits.
TEST_F(CatalogueKeeperTest, WithoutTheThreadTheCallerSyncs) {
  StoreOptions options;
  options.sync_interval = kASecond;
  open(options);
  samples(3);
  EXPECT_EQ(disk_.by(), std::this_thread::get_id());
}

// Segments that could not be synced are read again at the next start.
TEST_F(CatalogueKeeperTest, OneThatIsNotOnTheDiskIsNotSealed) {
  class NoSync : public test::ForwardingFiles {
   public:
    Status sync(int) override { return Error{"no sync", EIO}; }
  } disk;
  StoreOptions options;
  options.files = &disk;
  options.segment_time = 5 * kASecond;
  std::string problems;
  options.on_problem = [&](const std::string& problem) { problems += problem; };
  auto opened = StoreWriter::open(directory_, options, kKeptSince);
  ASSERT_TRUE(opened);
  writer_ = std::move(*opened);
  test::give_profile(*writer_, 20);
  samples(20);
  EXPECT_NE(problems.find("cannot sync"), std::string::npos) << problems;
  for (const SegmentRow& row : rows()) EXPECT_FALSE(row.sealed) << row.number;
  writer_.reset();
}

// What names the contents of a dictionary may be on its way when it ends. The broken twin does not know when
// that was.
TEST_F(CatalogueKeeperTest, DictionariesWaitForTheSamplesThatNameThem) {
  std::filesystem::create_directories(directory_);
  auto catalogue = Catalogue::open(catalogue_path(directory_), Catalogue::Mode::kWrite);
  ASSERT_TRUE(catalogue);
  SegmentRow data, dictionary;
  data.number = data.recording = dictionary.recording = 1;
  dictionary.number = 2;
  dictionary.kind = FileKind::kDictionarySegment;
  dictionary.sealed = true;
  data.bytes = dictionary.bytes = 100;
  const auto stays = [&](StoreRetention& retention) {
    EXPECT_TRUE(catalogue->put_segment(data));
    EXPECT_TRUE(catalogue->put_segment(dictionary));
    EXPECT_TRUE(retention.apply(*catalogue, {}));
    return catalogue->segments()->size() == 2;
  };
  StoreRetention retention(directory_, {}, 1, 0), twin(directory_, {}, 1, 0);
  retention.sealed(2, 1);
  EXPECT_TRUE(stays(retention));
  EXPECT_FALSE(stays(twin));
  data.sealed = true;
  EXPECT_FALSE(stays(retention));
}

}  // namespace
}  // namespace tailor::store
