// Summaries: what is written comes back or is refused, limits change no total, and a crash leaves neither
// less nor more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "daemon/store/block.h"
#include "daemon/store/summary_codec.h"
#include "daemon/store/summary_files.h"
#include "tailor/v1/profile.pb.h"
#include "tests/support/failing_files.h"

namespace tailor::store {
namespace {

namespace fs = std::filesystem;
using test::FailingFiles;
using test::Fault;

constexpr Hour kHour = 472'222;

CostSum sum_of(double samples, double cost) {
  CostSum sum;
  sum.samples = to_parts(samples);
  sum.weight = to_parts(cost);
  sum.squares = 1000 * sum.weight;
  sum.kernel = sum.weight / 2;
  return sum;
}

// One segment in which two queries ran.
Summary one(std::uint64_t segment) {
  Summary summary;
  summary.first = summary.last = segment;
  const Hour hour = kHour + static_cast<Hour>(segment / 2);
  for (const char* query : {"aaaa", "bbbb"}) {
    for (std::uint32_t op = 1; op <= 3; ++op) {
      const CostKey key{hour,   1000,   query,       CostOf::kOperator,       op,
                        "scan", "scan", "cpu-clock", profile::Unit::kNsOnCpu, 0xABCD};
      summary.costs[key] = sum_of(op * 1.5, op * 1e6);
    }
    summary.runs[{hour, 1000, query}] = {1, 0, 5'000'000, 5'000'000, 5'000'000};
    summary.queries[{1000, query}] = {"name", "select ?"};
  }
  const CostKey unknown{
      hour, {}, "", CostOf::kUnattributed, 0, "unknown_kernel", "", "cpu-clock", profile::Unit::kNsOnCpu, 0};
  summary.costs[unknown] = sum_of(1, 1e6);
  summary.losses[hour] = {1, 2, 3, 4};
  return summary;
}

std::string bytes_of(const Summary& summary) {
  auto bytes = encode(summary);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *bytes : "";
}

Result<Summary> read(const std::string& bytes) {
  MemoryInput input{std::string_view(bytes)};
  return decode_summary(input);
}

CostSum total(const Summary& summary) {
  CostSum sum;
  for (const auto& [key, cost] : summary.costs) sum.add(cost);
  return sum;
}

std::uint64_t executions(const Summary& summary) {
  std::uint64_t sum = 0;
  for (const auto& [key, run] : summary.runs) sum += run.executions;
  return sum;
}

TEST(SummaryCodec, GivesBackWhatWasGiven) {
  Summary given = one(7);
  add(given, one(8));
  const auto again = read(bytes_of(given));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->first, 7u);
  EXPECT_EQ(again->last, 8u);
  EXPECT_EQ(bytes_of(*again), bytes_of(given));
  ASSERT_EQ(again->costs.size(), given.costs.size());
  for (const auto& [key, sum] : given.costs) {
    ASSERT_TRUE(again->costs.contains(key));
    EXPECT_TRUE(again->costs.at(key) == sum);
  }
  EXPECT_EQ(executions(*again), 4u);
  EXPECT_EQ(again->losses.begin()->second.unwritten, 4u);
  EXPECT_EQ(again->queries.at({1000, "aaaa"}).text, "select ?");
}

TEST(SummaryCodec, RefusesWhatIsCutOrChanged) {
  const std::string good = bytes_of(one(7));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(read(good.substr(0, size))) << size;
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = static_cast<char>(bad[at] ^ 0x10);
    if (at >= 10 && at < 12) continue;  // a greater minor version is read
    EXPECT_FALSE(read(bad)) << at;
  }
  EXPECT_FALSE(read(good + "x"));
}

TEST(ElapsedBucketsTest, EveryTimeIsInTheBucketOfItsSize) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t ns = random() >> (random() % 64);
    ElapsedBuckets single;
    single.add(ns);
    const double real = std::max(1.0, static_cast<double>(ns));
    EXPECT_NEAR(*single.quantile(0.5), real, 0.05 * real) << ns;
  }
  ElapsedBuckets longest;
  longest.add(UINT64_MAX);
  EXPECT_NEAR(*longest.quantile(1), 1.8446744e19, 0.05 * 1.8446744e19);
  EXPECT_FALSE(ElapsedBuckets().quantile(0.5));
}

// What is added up tells the same as what was counted at once, within 5 % of the truth.
TEST(ElapsedBucketsTest, PartsAddUpToTheWhole) {
  std::mt19937_64 random(11);
  std::lognormal_distribution<double> times(15, 2);
  std::vector<double> all;
  ElapsedBuckets whole, sum;
  for (int part = 0; part < 10; ++part) {
    ElapsedBuckets some;
    for (int i = 0; i < 1'000; ++i) {
      all.push_back(std::floor(times(random)));
      some.add(static_cast<std::uint64_t>(all.back()));
      whole.add(static_cast<std::uint64_t>(all.back()));
    }
    sum.add(some);
  }
  EXPECT_EQ(sum, whole);
  EXPECT_EQ(sum.count(), all.size());
  std::ranges::sort(all);
  for (const double part : {0.01, 0.5, 0.95, 0.99, 1.0}) {
    const double real = all[static_cast<std::size_t>(std::ceil(part * static_cast<double>(all.size()))) - 1];
    EXPECT_NEAR(*sum.quantile(part), real, 0.05 * real) << part;
  }
}

TEST(SummaryCodec, KeepsHowLongExecutionsTook) {
  Summary given = one(7);
  RunSum& run = given.runs.begin()->second;
  run = {};
  for (const std::uint64_t ns : {3'000'000ull, 5'000'000ull, 900'000'000ull}) {
    RunSum more{1, 0, ns, ns, ns};
    more.elapsed.add(ns);
    more.rows_known = 1;
    more.rows = ns / 1'000'000;
    add(run, more);
  }
  const auto again = read(bytes_of(given));
  ASSERT_TRUE(again) << again.error().message;
  const RunSum& kept = again->runs.begin()->second;
  EXPECT_EQ(kept.elapsed, run.elapsed);
  EXPECT_EQ(kept.elapsed.count(), 3u);
  EXPECT_EQ(kept.rows_known, 3u);
  EXPECT_EQ(kept.rows, 908u);
  EXPECT_EQ(again->runs.rbegin()->second.elapsed.count(), 0u) << "of the other query nothing is known";
}

TEST(SummaryCodec, KeepsHowManyExecutionsAreInNoElapsedTime) {
  Summary given = one(7);
  RunSum& run = given.runs.begin()->second;
  run = {3, 0, 12, 5, 7};
  run.elapsed.add(5);
  run.elapsed.add(7);
  run.untimed = 1;
  given.runs.rbegin()->second.not_drawn = 1;
  const auto again = read(bytes_of(given));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->runs.begin()->second.untimed, 1u);
  EXPECT_EQ(again->runs.begin()->second.timed(), 2u);
  EXPECT_EQ(again->runs.begin()->second.not_drawn, 0u);
  EXPECT_EQ(again->runs.rbegin()->second.untimed, 0u);
  EXPECT_EQ(again->runs.rbegin()->second.not_drawn, 1u);
  run.untimed = 4;
  EXPECT_FALSE(read(bytes_of(given))) << "more than there are";
  run.untimed = 2;
  EXPECT_FALSE(read(bytes_of(given))) << "two have a time, by their buckets";
}

// Engines add up runs, and may say any number of them: no sum wraps, and what is written can be read.
TEST(SummaryCodec, KeepsMoreExecutionsThanANumberCanSay) {
  Summary given = one(7);
  RunSum many{std::uint64_t{1} << 63, std::uint64_t{1} << 63, 0, 0, 0};
  many.elapsed.put(0, many.executions);
  many.rows_known = many.executions;
  RunSum& run = given.runs.begin()->second;
  run = many;
  EXPECT_EQ(read(bytes_of(given))->runs.begin()->second.elapsed.count(), many.executions);
  for (const int round : {1, 2}) {
    add(run, many);
    EXPECT_EQ(run.executions, UINT64_MAX) << round;
    const auto again = read(bytes_of(given));
    ASSERT_TRUE(again) << again.error().message;
    EXPECT_EQ(again->runs.begin()->second.executions, UINT64_MAX);
    EXPECT_EQ(again->runs.begin()->second.failed, UINT64_MAX);
    EXPECT_FALSE(again->runs.begin()->second.elapsed.quantile(0.5)) << "not known of all of them";
  }
}

// A file with a run of two executions, one in each of two buckets, changed.
std::string run_file(const std::function<void(v1::SummaryRuns&)>& change) {
  v1::SummaryBlock block;
  block.add_texts("");
  block.set_first(1);
  block.set_last(1);
  v1::SummaryRuns& runs = *block.mutable_runs();
  runs.add_hour(kHour);
  runs.add_uid(0);
  runs.add_fingerprint(0);
  runs.add_executions(2);
  runs.add_failed(0);
  runs.add_elapsed_sum(30);
  runs.add_elapsed_min(10);
  runs.add_elapsed_max(20);
  runs.add_result_rows_known(2);
  runs.add_result_rows(5);
  runs.add_buckets(2);
  for (const std::uint32_t bucket : {24u, 7u}) runs.add_bucket(bucket);
  for (int i = 0; i < 2; ++i) runs.add_bucket_executions(1);
  change(runs);
  const auto header = encode(FileHeader{FileKind::kSummary, kVersionMinor, 1, 0});
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  file += make_block(BlockType::kSummary, 0, block.SerializeAsString());
  v1::EndBlock end;
  end.set_blocks(1);
  return file + make_block(BlockType::kEnd, 1, end.SerializeAsString());
}

TEST(SummaryCodec, KeepsHowManyExecutionsWereSampled) {
  Summary given = one(7);
  EXPECT_EQ(read(bytes_of(given))->runs.begin()->second.sampled(), 1u) << "without a share all are";
  given.runs.begin()->second = {8, 0, 40, 5, 5};
  given.runs.begin()->second.not_drawn = 7;
  const auto again = read(bytes_of(given));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->runs.begin()->second.sampled(), 1u);
  EXPECT_EQ(again->runs.rbegin()->second.sampled(), 1u);
  RunSum sum = again->runs.begin()->second;
  add(sum, sum);
  EXPECT_EQ(sum.executions, 16u);
  EXPECT_EQ(sum.sampled(), 2u);
  EXPECT_TRUE(read(run_file([](v1::SummaryRuns& runs) { runs.add_not_drawn(2); })));
  EXPECT_FALSE(read(run_file([](v1::SummaryRuns& runs) { runs.add_not_drawn(3); }))) << "more than there are";
  EXPECT_FALSE(read(run_file([](v1::SummaryRuns& runs) {
    for (int i = 0; i < 2; ++i) runs.add_not_drawn(1);
  }))) << "more rows than there are";
}

TEST(SummaryCodec, OlderFilesDoNotSayHowLong) {
  const auto older = read(run_file([](v1::SummaryRuns& runs) {
    runs.clear_result_rows_known();
    runs.clear_result_rows();
    runs.clear_buckets();
    runs.clear_bucket();
    runs.clear_bucket_executions();
  }));
  ASSERT_TRUE(older) << older.error().message;
  EXPECT_EQ(older->runs.begin()->second.executions, 2u);
  EXPECT_EQ(older->runs.begin()->second.elapsed.count(), 0u);
}

TEST(SummaryCodec, RefusesBucketsThatCannotBe) {
  const auto good = read(run_file([](v1::SummaryRuns&) {}));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->runs.begin()->second.elapsed.counts().rbegin()->first, 31u);
  const std::function<void(v1::SummaryRuns&)> wrong[] = {
      [](v1::SummaryRuns& runs) { runs.set_bucket(1, ElapsedBuckets::kMostBuckets); },
      [](v1::SummaryRuns& runs) { runs.set_bucket(1, UINT32_MAX); },
      [](v1::SummaryRuns& runs) { runs.set_bucket(1, 0); },
      [](v1::SummaryRuns& runs) { runs.set_buckets(0, 3); },
      [](v1::SummaryRuns& runs) { runs.set_buckets(0, UINT32_MAX); },
      [](v1::SummaryRuns& runs) { runs.add_buckets(0); },
      [](v1::SummaryRuns& runs) {
        runs.add_bucket(1);
        runs.add_bucket_executions(1);
      },
      [](v1::SummaryRuns& runs) { runs.set_bucket_executions(0, 0); },
      [](v1::SummaryRuns& runs) { runs.set_bucket_executions(1, UINT64_MAX); },
      [](v1::SummaryRuns& runs) { runs.set_bucket_executions(1, 2); },
      [](v1::SummaryRuns& runs) { runs.set_result_rows_known(0, 3); },
      [](v1::SummaryRuns& runs) { runs.clear_result_rows(); },
  };
  for (const auto& change : wrong) EXPECT_FALSE(read(run_file(change))) << &change - wrong;
}

TEST(SummaryLimits, ChangeNoTotal) {
  Summary many;
  for (int i = 0; i < 100; ++i) {
    const std::string query = "query" + std::to_string(i);
    for (std::uint32_t op = 1; op <= 20; ++op) {
      const CostKey key{kHour,
                        1000,
                        query,
                        CostOf::kOperator,
                        op,
                        "scan " + std::to_string(op),
                        "scan",
                        "cpu-clock",
                        profile::Unit::kNsOnCpu};
      many.costs[key] = sum_of(1, 1000.0 * i + op);
    }
    many.runs[{kHour, 1000, query}] = {2, 1, 10, 4, 6};
    many.queries[{1000, query}] = {query, query};
  }
  const Summary less = bounded(many, {.queries = 10, .rows_of_a_query = 5});
  EXPECT_TRUE(total(less) == total(many));
  EXPECT_EQ(executions(less), executions(many));
  EXPECT_LE(less.costs.size(), 11u * 6);
  EXPECT_EQ(less.runs.size(), 11u);
  EXPECT_EQ(less.queries.size(), 10u);
  EXPECT_TRUE(less.queries.contains({1000, "query99"}));
  EXPECT_FALSE(less.queries.contains({1000, "query0"}));
  // What is bounded stays as it is.
  EXPECT_EQ(bytes_of(bounded(less, {.queries = 11, .rows_of_a_query = 6})), bytes_of(less));
}

class SummaryFiles : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/summaries_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fresh();
  }
  void TearDown() override { fs::remove_all(directory_); }
  void fresh() {
    fs::remove_all(directory_);
    fs::create_directories(directory_);
  }

  Summary all() {
    Summary sum;
    auto files = list_summaries(directory_);
    EXPECT_TRUE(files) << files.error().message;
    if (!files) return sum;
    for (const SummaryFile& file : *files) {
      auto summary = read_summary(directory_, file);
      EXPECT_TRUE(summary) << summary.error().message;
      if (summary) add(sum, *summary);
    }
    return sum;
  }
  Summary expected(std::uint64_t last) {
    Summary sum;
    for (std::uint64_t segment = 1; segment <= last; ++segment) add(sum, one(segment));
    return sum;
  }

  std::string directory_;
};

TEST_F(SummaryFiles, GrowUpToASizeAndThenAreMany) {
  SummaryWriter writer(directory_);
  const SummaryRetention retention{.merge_bytes = 600};
  for (std::uint64_t segment = 1; segment <= 40; ++segment) ASSERT_TRUE(writer.put(one(segment), retention));
  auto files = list_summaries(directory_);
  ASSERT_TRUE(files);
  EXPECT_GT(files->size(), 1u);
  EXPECT_LT(files->size(), 40u);
  EXPECT_EQ(summed_up_to(*files), 40u);
  EXPECT_EQ(bytes_of(all()), bytes_of(expected(40)));
  EXPECT_FALSE(writer.put(one(40), retention)) << "nothing is summed up twice";
  EXPECT_EQ(bytes_of(all()), bytes_of(expected(40)));
}

TEST_F(SummaryFiles, TheOldestGoByAgeAndBySize) {
  SummaryWriter writer(directory_);
  const SummaryRetention apart{.keep_bytes = 0, .keep_ns = 0, .merge_bytes = 0};
  for (std::uint64_t segment = 1; segment <= 10; ++segment) ASSERT_TRUE(writer.put(one(segment), apart));
  ASSERT_EQ(list_summaries(directory_)->size(), 10u);
  ASSERT_TRUE(writer.retain(apart, std::numeric_limits<std::uint64_t>::max()));
  EXPECT_EQ(list_summaries(directory_)->size(), 10u);
  // Segments 1 to 3 end two hours after the first, at most.
  ASSERT_TRUE(writer.retain({.keep_bytes = 0, .keep_ns = kHourNs}, (kHour + 3) * kHourNs + 1));
  EXPECT_EQ(list_summaries(directory_)->front().first, 4u);
  ASSERT_TRUE(writer.retain({.keep_bytes = 1, .keep_ns = 0}, 0));
  ASSERT_EQ(list_summaries(directory_)->size(), 1u) << "the newest one stays";
  EXPECT_EQ(list_summaries(directory_)->front().last, 10u);
}

TEST_F(SummaryFiles, OnesThatOverlapAreRefused) {
  SummaryWriter writer(directory_);
  ASSERT_TRUE(writer.put(expected(4), {.merge_bytes = 0}));
  fs::copy(summary_path(directory_, {1, 4, 0}), summary_path(directory_, {3, 9, 0}));
  EXPECT_FALSE(list_summaries(directory_));
}

TEST_F(SummaryFiles, OneOfAnotherNameIsRefused) {
  SummaryWriter writer(directory_);
  ASSERT_TRUE(writer.put(expected(4), {.merge_bytes = 0}));
  fs::rename(summary_path(directory_, {1, 4, 0}), summary_path(directory_, {1, 9, 0}));
  EXPECT_FALSE(read_summary(directory_, {1, 9, 0}));
}

// Whatever call fails, and wherever the process dies: each segment is summed up once or not at all.
TEST_F(SummaryFiles, AFaultAtEveryCallNeitherLosesNorDoubles) {
  for (const Fault fault : {Fault::kNoSpace, Fault::kFull, Fault::kIo, Fault::kKill}) {
    std::uint64_t at = 1;
    for (bool reached = true; reached; ++at) {
      fresh();
      const SummaryRetention retention{.keep_bytes = 0, .keep_ns = 0, .merge_bytes = 600};
      {
        FailingFiles files(fault, at);
        SummaryWriter writer(directory_, files);
        for (std::uint64_t segment = 1; segment <= 6; ++segment) {
          const auto before = list_summaries(directory_);
          ASSERT_TRUE(before);
          if (summed_up_to(*before) >= segment) continue;
          if (fault == Fault::kKill && files.struck()) break;
          // A segment that is refused is tried again, and nobody goes on before.
          for (int tries = 0; tries < 2; ++tries) {
            const auto now = list_summaries(directory_);
            ASSERT_TRUE(now);
            if (summed_up_to(*now) >= segment || writer.put(one(segment), retention)) break;
          }
          const auto after = list_summaries(directory_);
          ASSERT_TRUE(after);
          const std::uint64_t done = summed_up_to(*after);
          ASSERT_TRUE(done == segment || done == segment - 1) << "call " << at;
          ASSERT_EQ(bytes_of(all()), bytes_of(expected(done))) << "call " << at;
          if (done < segment) break;
        }
        (void)writer.retain(retention, 0);
        reached = files.calls() >= at;
      }
      const auto done = list_summaries(directory_);
      ASSERT_TRUE(done);
      EXPECT_EQ(bytes_of(all()), bytes_of(expected(summed_up_to(*done)))) << "call " << at;
      // Another daemon goes on, and clears away what was left.
      SummaryWriter next(directory_);
      for (std::uint64_t segment = summed_up_to(*done) + 1; segment <= 6; ++segment)
        ASSERT_TRUE(next.put(one(segment), retention));
      ASSERT_TRUE(next.retain(retention, 0));
      EXPECT_EQ(bytes_of(all()), bytes_of(expected(6))) << "call " << at;
      for (const auto& entry : fs::directory_iterator(directory_))
        EXPECT_TRUE(entry.path().extension() == ".summary") << entry.path();
    }
    EXPECT_GT(at, 20u) << "there are so many calls";
  }
}

}  // namespace
}  // namespace tailor::store
