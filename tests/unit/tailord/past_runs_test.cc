#include "daemon/tailord/past_runs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/added_runs.h"
#include "daemon/store/store_directory.h"
#include "daemon/store/store_writer.h"
#include "daemon/tailord/triggers.h"

namespace tailor::tailord {
namespace {

constexpr TimeNs kMs = 1'000'000, kSecond = 1000 * kMs;
constexpr std::uint64_t kWall = 1'700'000'000'000'000'000;
constexpr std::uint64_t kWeek = std::uint64_t{7} * 24 * 3600 * kSecond;
constexpr std::size_t kAllQueries = 100;

class PastRunsTest : public testing::Test {
 protected:
  PastRunsTest() {
    std::filesystem::remove_all(directory_);
    auto writer = store::StoreWriter::open(directory_, {}, kWall);
    EXPECT_TRUE(writer.ok());
    writer_ = std::move(*writer);
  }
  ~PastRunsTest() override { std::filesystem::remove_all(directory_); }

  // One of `query` that began so long after kWall.
  profile::ExecutionRecord ran(const std::string& query, TimeNs after, TimeNs elapsed) {
    profile::ExecutionRecord record;
    record.process = {1, 10};
    record.handle = ++handle_;
    record.id.bytes[0] = static_cast<std::uint8_t>(handle_ >> 8);
    record.id.bytes[1] = static_cast<std::uint8_t>(handle_);
    record.begin = kSecond + after;
    record.end = record.begin + elapsed;
    record.wall_begin_ns = kWall + static_cast<std::uint64_t>(after);
    record.labels = {{"query", query}};
    return record;
  }
  void give(const profile::ExecutionRecord& record) { writer_->on_execution(record); }
  void finish() {
    if (std::exchange(finished_, true)) return;
    EXPECT_TRUE(writer_->finish().ok());
  }

  std::vector<PastRun> read(const Moment& now, std::size_t queries = kAllQueries) {
    finish();
    const auto catalogue =
        store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
    EXPECT_TRUE(catalogue.ok());
    auto runs = past_runs(*catalogue, now, queries, Stop());
    EXPECT_TRUE(runs.ok());
    return runs.ok() ? std::move(*runs) : std::vector<PastRun>();
  }

  const std::string directory_ = testing::TempDir() + "/past_runs_test." + std::to_string(::getpid());
  std::unique_ptr<store::StoreWriter> writer_;

 private:
  std::uint64_t handle_ = 0;
  bool finished_ = false;
};

TEST_F(PastRunsTest, AreThoseThatEndedWithoutAnErrorInTheTime) {
  give(ran("select 1 from t", 0, 30 * kMs));
  give(ran("select 2 from t", 2 * kSecond, 40 * kMs));
  auto failed = ran("select 1 from t", kSecond, 50 * kMs);
  failed.error = "cancelled";
  give(failed);
  auto running = ran("select 1 from t", kSecond, 0);
  running.end = kTimeMax;
  give(running);
  auto worker = ran("select 1 from t", kSecond, 60 * kMs);
  worker.labels.emplace_back("leader_execution", std::string(32, 'a'));
  give(worker);
  auto sum = ran("select 1 from t", kSecond, 70 * kMs);
  sum.added = std::make_shared<const profile::AddedRuns>(profile::AddedRuns{2, 0, 5, 2, 3, {{7, 2}}});
  give(sum);
  auto said_sum = ran("select 1 from t", kSecond, 80 * kMs);  // its numbers did not come
  said_sum.labels.emplace_back(profile::kRunsLabel, profile::kRunsLabelValue);
  give(said_sum);
  give(ran("select 1 from t", 20 * kSecond, kMs));  // the clock was set back since then
  const Moment now{100, kWall + 10 * kSecond};
  const auto runs = read(now);
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0].fingerprint, runs[1].fingerprint) << "literals do not count";
  EXPECT_EQ(runs[0].elapsed, 40 * kMs) << "the newest first";
  EXPECT_EQ(runs[0].ended, 100 - 8 * kSecond + 40 * kMs) << "by the clock of now";
  EXPECT_EQ(runs[1].elapsed, 30 * kMs);
  EXPECT_EQ(runs[1].ended, 100 - 10 * kSecond + 30 * kMs);
  EXPECT_EQ(read({0, kWall + kWeek + kSecond}).size(), 2u) << "one began more than a week before that";
}

TEST_F(PastRunsTest, OfEachQueryTheNewestAreEnough) {
  const auto most = static_cast<TimeNs>(UsualTime::kMost);
  // Some began in the same nanosecond, as those of several processes may have.
  for (TimeNs i = 0; i < 50 * most; ++i) give(ran("often", i / 3, i));
  give(ran("seldom", 0, 7));
  const auto runs = read({0, kWall + kSecond});
  EXPECT_EQ(std::ranges::count(runs, 7, &PastRun::elapsed), 1) << "it was not pushed out";
  EXPECT_EQ(runs.size(), UsualTime::kMost + 1);
  EXPECT_EQ(std::ranges::max(runs, {}, &PastRun::elapsed).elapsed, 50 * most - 1);
  EXPECT_EQ(read({0, kWall + kSecond}, 1).size(), UsualTime::kMost) << "of one query";
}

TEST_F(PastRunsTest, TriggersKnowTheUsualTimeByThem) {
  for (TimeNs i = 0; i < static_cast<TimeNs>(UsualTime::kLeast); ++i)
    give(ran("select 1", i * kSecond, 10 * kMs));
  const Moment now{1000 * kSecond, kWall + 100 * kSecond};
  Triggers triggers;
  TriggerRule slow;
  slow.name = "slow";
  slow.slower_than_usual = 3;
  triggers.set({slow});
  const auto fires = [&] {
    auto record = ran("select 2", 0, 0);
    record.begin = now.time;
    record.end = kTimeMax;
    triggers.on_execution(record);
    return triggers.take(now.time + kSecond, [](ProcessId) { return true; }).size();
  };
  EXPECT_EQ(fires(), 0u);
  triggers.know(read(now));
  EXPECT_EQ(fires(), 1u);
}

TEST_F(PastRunsTest, ARequestToStopIsHeard) {
  give(ran("a", 0, 1));
  finish();
  const auto catalogue =
      store::Catalogue::open(store::catalogue_path(directory_), store::Catalogue::Mode::kRead);
  ASSERT_TRUE(catalogue.ok());
  Stop stop;
  stop.cancel();
  EXPECT_FALSE(past_runs(*catalogue, {0, kWall + kSecond}, kAllQueries, stop).ok());
}

TEST_F(PastRunsTest, AThreadReadsThem) {
  const auto record = ran("a", 0, 1);
  give(record);
  const auto later = ran("a", 8 * kSecond, 3 * kSecond);
  give(later);
  finish();
  std::promise<std::size_t> taken;
  const auto take = [&](const std::vector<PastRun>& runs) { taken.set_value(runs.size()); };
  PastRunsReader reader(directory_, {0, kWall + 10 * kSecond}, kAllQueries, take);
  auto size = taken.get_future();
  ASSERT_EQ(size.wait_for(std::chrono::minutes(2)), std::future_status::ready);
  EXPECT_EQ(size.get(), 1u) << "what ended later is counted as it ends";
}

TEST(UsualTimeTest, TheOldestRunsGoWhateverTheirOrder) {
  UsualTime usual;
  for (std::size_t i = 0; i < UsualTime::kMost; ++i) usual.add(1000, 7);
  for (std::size_t i = 0; i < 2 * UsualTime::kMost; ++i) usual.add(10, 300);
  EXPECT_EQ(usual.get(1000), 7) << "what is older does not push out what is newer";
  for (std::size_t i = 0; i < UsualTime::kMost; ++i) usual.add(2000, 9);
  EXPECT_EQ(usual.get(2000), 9);
}

}  // namespace
}  // namespace tailor::tailord
