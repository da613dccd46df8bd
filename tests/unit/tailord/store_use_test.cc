// What users have of a store, while its catalogue is in use.
#include "daemon/tailord/store_use.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <future>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/forwarding_files.h"
#include "tests/support/sample_profile.h"

namespace tailor::tailord {
namespace {

constexpr std::uint64_t kWallNow = 1'700'000'000'000'000'000;
constexpr TimeNs kSecondNs = 1'000'000'000;
constexpr std::chrono::hours kNeverByItself{1};

// Holds up the thread that deletes a segment. It has the catalogue meanwhile.
class SlowToDelete : public test::ForwardingFiles {
 public:
  Status remove(const std::string& path) override {
    if (armed.exchange(false)) {
      held.count_down();
      go.wait();
    }
    return ForwardingFiles::remove(path);
  }
  std::atomic<bool> armed = false;
  std::latch held{1}, go{1};
};

class StoreUseTest : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/store_use_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::remove_all(directory_);
    store::StoreOptions options;
    options.segment_time = 2 * kSecondNs;
    options.keep_bytes = 1;
    options.disk_shares = false;
    options.own_thread = true;
    options.files = &files_;
    auto opened = store::StoreWriter::open(directory_, options, kWallNow);
    ASSERT_TRUE(opened) << opened.error().message;
    writer_ = std::move(*opened);
    test::give_context(*writer_);
    give_second();
    ASSERT_TRUE(writer_->flush());
  }
  void TearDown() override {
    writer_.reset();
    std::filesystem::remove_all(directory_);
  }

  void give_second() {
    std::vector<profile::SampleRecord> samples;
    for (TimeNs i = 0; i < 10; ++i) samples.push_back(test::ir_sample(now_ + i * kSecondNs / 10, 1));
    writer_->on_samples(samples);
    writer_->on_watermark(samples.back().time);
    now_ += kSecondNs;
  }
  // Segments go as soon as they are sealed.
  bool deletes_one() {
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!files_.held.try_wait()) {
      if (std::chrono::steady_clock::now() > until) return false;
      give_second();
      std::this_thread::yield();
    }
    return true;
  }

  std::string directory_;
  SlowToDelete files_;
  std::unique_ptr<store::StoreWriter> writer_;
  TimeNs now_ = test::kSampleStart;
};

std::uint64_t executions_in(const std::vector<store::UserUse>& uses) {
  std::uint64_t sum = 0;
  for (const store::UserUse& use : uses) sum += use.executions;
  return sum;
}

TEST_F(StoreUseTest, IsReadBeforeTheFirstAsks) {
  StoreUse use(*writer_, kNeverByItself);
  const StoreUse::Reading first = use.ask();
  EXPECT_EQ(first.problem, "");
  EXPECT_GT(executions_in(first.users.uses), 0u);
  const auto direct = writer_->catalogue_uses();
  ASSERT_TRUE(direct);
  EXPECT_EQ(executions_in(first.users.uses), executions_in(*direct));
}

TEST_F(StoreUseTest, IsReadAgainForThoseWhoAsk) {
  StoreUse use(*writer_, kNeverByItself);
  const auto first = use.ask().begun;
  while (use.ask().begun == first) std::this_thread::yield();
  EXPECT_GT(use.ask().begun, first);
}

// Twin: a thread that reads the catalogue itself waits.
TEST_F(StoreUseTest, WhoAsksDoesNotWaitForTheCatalogue) {
  StoreUse use(*writer_, kNeverByItself);
  files_.armed = true;
  ASSERT_TRUE(deletes_one());
  auto direct = std::async(std::launch::async, [this] { return writer_->disk_uses().ok(); });
  const StoreUse::Reading before = use.ask();
  EXPECT_EQ(use.ask().begun, before.begun);
  EXPECT_NE(direct.wait_for(std::chrono::milliseconds(1)), std::future_status::ready);
  EXPECT_EQ(use.ask().begun, before.begun) << "it cannot be read meanwhile";
  files_.go.count_down();
  EXPECT_TRUE(direct.get());
  while (use.ask().begun == before.begun) std::this_thread::yield();
}

}  // namespace
}  // namespace tailor::tailord
