// Sums of summaries are those of the samples that they replace, to the last bit: divided among owners, added
// in any order, written and read, made days, and merged beyond the size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "daemon/store/block.h"
#include "daemon/store/summary_codec.h"
#include "daemon/store/summary_files.h"
#include "tailor/v1/profile.pb.h"
#include "tests/support/failing_files.h"

namespace tailor::store {
namespace {

namespace stdfs = std::filesystem;

constexpr Hour kFirstHour = 472'200;  // the begin of a day

std::string encoded(const Summary& summary) {
  auto bytes = encode(summary);
  EXPECT_TRUE(bytes) << bytes.error().message;
  return bytes ? *bytes : "";
}

Result<Summary> decoded(const std::string& bytes) {
  MemoryInput input{std::string_view(bytes)};
  return decode_summary(input);
}

CostKey key_at(Hour hour, const std::string& fingerprint, std::uint32_t id) {
  CostKey key;
  key.hour = hour;
  key.uid = 1000;
  key.fingerprint = fingerprint;
  key.id = id;
  key.name = "operator " + std::to_string(id);
  key.kind = "scan";
  key.source = "cpu-clock";
  key.plan = 7;
  return key;
}

CostSum all_of(const Summary& summary) {
  CostSum sum;
  for (const auto& [key, cost] : summary.costs) sum.add(cost);
  return sum;
}

TEST(WholeParts, AreTheWholeSample) {
  EXPECT_EQ(whole_parts(std::vector<double>{1}), std::vector<std::uint32_t>{kParts});
  EXPECT_EQ(whole_parts(std::vector<double>{0.5, 0.5}), (std::vector<std::uint32_t>{kParts / 2, kParts / 2}));
  const double third = 1.0 / 3;
  EXPECT_EQ(whole_parts(std::vector<double>{third, third, third}),
            (std::vector<std::uint32_t>{349'526, 349'525, 349'525}));
  EXPECT_TRUE(whole_parts({}).empty());
  std::mt19937_64 random(3);
  for (int round = 0; round < 1000; ++round) {
    std::vector<double> shares(1 + random() % 40);
    double sum = 0;
    for (double& share : shares) sum += share = static_cast<double>(random() % 1000 + 1);
    for (double& share : shares) share /= sum;
    const auto parts = whole_parts(shares);
    EXPECT_EQ(std::accumulate(parts.begin(), parts.end(), std::uint64_t{0}), kParts);
  }
}

TEST(CostSums, HalfASampleHasHalfOfEverything) {
  profile::Sum one;
  profile::SampleRecord sample;
  sample.weight = 1'000'001;
  one.add(sample);
  CostSum half;
  half.add(one, kParts / 2, true, false);
  EXPECT_EQ(to_number(half.samples), 0.5);
  EXPECT_EQ(to_number(half.weight), 500'000.5);
  EXPECT_EQ(to_number(half.squares), 0.5 * 1'000'001.0 * 1'000'001.0);
  EXPECT_TRUE(half.kernel == half.weight);
  EXPECT_TRUE(half.inferred == 0);
  // What exceeds a field stays at its greatest value.
  one.weight = UINT64_MAX;
  one.weight_squares = static_cast<Wide>(-1);
  half.add(one, kParts, false, false);
  EXPECT_TRUE(half.squares == static_cast<Wide>(-1));
  EXPECT_TRUE(to_parts(1e300) == static_cast<Wide>(-1));
  EXPECT_TRUE(to_parts(-1) == 0);
  EXPECT_EQ(to_number(to_parts(12.5)), 12.5);
}

// What is counted here is counted by other code than that of summaries: sample by sample.
struct Counted {
  Wide samples = 0, weight = 0, squares = 0, kernel = 0, inferred = 0;
};
using CountedKey = std::tuple<Hour, std::string, std::uint32_t>;
using AllCounted = std::map<CountedKey, Counted>;

bool says(const Summary& summary, const AllCounted& want) {
  return summary.costs.size() == want.size() && std::ranges::all_of(summary.costs, [&](const auto& row) {
           const auto at = want.find({row.first.hour, row.first.fingerprint, row.first.id});
           const CostSum& sum = row.second;
           return at != want.end() && sum.samples == at->second.samples && sum.weight == at->second.weight &&
                  sum.squares == at->second.squares && sum.kernel == at->second.kernel &&
                  sum.inferred == at->second.inferred && sum.undetailed == 0;
         });
}

// Random samples, each owned by up to four operators, in many summaries.
class RandomSamples {
 public:
  static constexpr int kSamples = 1'000'000;

  explicit RandomSamples(std::size_t summaries) : parts(summaries) {
    for (std::size_t i = 0; i < summaries; ++i) parts[i].first = parts[i].last = i + 1;
    for (std::size_t i = 0; i < kKeys; ++i)
      keys_.push_back(key_at(kFirstHour + static_cast<Hour>(i / (kQueries * kOperators)),
                             "query" + std::to_string(i / kOperators % kQueries),
                             static_cast<std::uint32_t>(i % kOperators)));
    for (int i = 0; i < kSamples; ++i) add_one();
    for (std::size_t i = 0; i < kKeys; ++i) {
      if (counted_[i].samples == 0) continue;
      const CostKey& key = keys_[i];
      add_up(hours[{key.hour, key.fingerprint, key.id}], counted_[i]);
      add_up(days[{key.hour - key.hour % 24, key.fingerprint, key.id}], counted_[i]);
    }
  }

  std::vector<Summary> parts;
  AllCounted hours, days;
  std::mt19937_64 random{17};

 private:
  static constexpr std::size_t kHours = 48, kQueries = 5, kOperators = 7;
  static constexpr std::size_t kKeys = kHours * kQueries * kOperators;

  void add_one() {
    profile::SampleRecord sample;
    sample.weight = random() >> (20 + random() % 40);
    profile::Sum one;
    one.add(sample);
    const bool kernel = random() % 3 == 0, inferred = random() % 5 == 0;
    const std::size_t owners = 1 + random() % 4;
    const std::vector<std::uint32_t> shares =
        whole_parts(std::vector<double>(owners, 1.0 / static_cast<double>(owners)));
    const std::size_t first = random() % (kHours * kQueries) * kOperators + random() % 4;
    Summary& to = parts[random() % parts.size()];
    for (std::size_t i = 0; i < owners; ++i) {
      to.costs[keys_[first + i]].add(one, shares[i], kernel, inferred);
      count(counted_[first + i], sample.weight, shares[i], kernel, inferred);
    }
  }
  static void count(Counted& to, std::uint64_t weight, std::uint64_t share, bool kernel, bool inferred) {
    to.samples += share;
    to.weight += static_cast<Wide>(weight) * share;
    to.squares += static_cast<Wide>(weight) * weight * share;
    if (kernel) to.kernel += static_cast<Wide>(weight) * share;
    if (inferred) to.inferred += static_cast<Wide>(weight) * share;
  }
  static void add_up(Counted& to, const Counted& from) {
    to.samples += from.samples;
    to.weight += from.weight;
    to.squares += from.squares;
    to.kernel += from.kernel;
    to.inferred += from.inferred;
  }

  std::vector<CostKey> keys_;
  std::vector<Counted> counted_ = std::vector<Counted>(kKeys);
};

TEST(SummaryOfRandomSamples, SaysTheirSumsInWhateverOrderTheyAreAdded) {
  RandomSamples samples(24);
  for (const bool make_days : {false, true}) {
    std::vector<Summary> parts = samples.parts;
    std::ranges::shuffle(parts, samples.random);
    while (parts.size() > 1) {
      Summary last = std::move(parts.back());
      parts.pop_back();
      Summary& to = parts[samples.random() % parts.size()];
      if (make_days && samples.random() % 3 == 0) roll_up(last, kFirstHour + 24);
      add(to, last);
      if (samples.random() % 3 != 0) continue;
      auto again = decoded(encoded(to));
      ASSERT_TRUE(again) << again.error().message;
      to = std::move(*again);
    }
    Summary& whole = parts.front();
    const CostSum before = all_of(whole);
    if (make_days) {
      roll_up(whole, kFirstHour + 48);
      EXPECT_TRUE(says(whole, samples.days));
    } else {
      EXPECT_TRUE(says(whole, samples.hours));
    }
    EXPECT_TRUE(all_of(whole) == before);
    EXPECT_TRUE(all_of(bounded(whole, {.queries = 2, .rows_of_a_query = 3})) == before);
    // The broken twin: one part of one sample too much.
    whole.costs.begin()->second.weight += 1;
    EXPECT_FALSE(says(whole, make_days ? samples.days : samples.hours));
  }
}

// The bytes of a file of that version with a row in it, changed.
std::string cost_file(std::uint16_t version, const std::function<void(v1::SummaryBlock&)>& change) {
  v1::SummaryBlock block;
  block.add_texts("");
  block.set_first(1);
  block.set_last(1);
  v1::SummaryCosts& costs = *block.mutable_costs();
  costs.add_hour(kFirstHour + 1);
  costs.add_uid(0);
  costs.add_fingerprint(0);
  costs.add_what(0);
  costs.add_id(3);
  for (auto* texts : {costs.mutable_name(), costs.mutable_kind(), costs.mutable_source()}) texts->Add(0);
  costs.add_unit(0);
  if (version == kVersionMajor) {
    costs.add_samples(2.5);
    costs.add_weight(1e6);
  } else {
    costs.add_plan(2);
    block.add_plans(7);
    costs.mutable_sample_sum()->add_whole(2);
    costs.mutable_sample_sum()->add_part(kParts / 2);
    costs.mutable_weight_sum()->add_whole(1'000'000);
    costs.mutable_kernel_weight()->add_whole(1'000'000);
  }
  change(block);
  FileHeader head{FileKind::kSummary, kVersionMinor, 1, 0};
  head.version_major = version;
  const auto header = encode(head);
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  file += make_block(BlockType::kSummary, 0, block.SerializeAsString());
  v1::EndBlock end;
  end.set_blocks(1);
  return file + make_block(BlockType::kEnd, 1, end.SerializeAsString());
}

TEST(SummaryVersions, WhatOlderFilesDoNotKnowIsNotKnown) {
  const auto older = decoded(cost_file(kVersionMajor, [](v1::SummaryBlock&) {}));
  ASSERT_TRUE(older) << older.error().message;
  const auto& [key, sum] = *older->costs.begin();
  EXPECT_FALSE(key.plan);
  EXPECT_EQ(to_number(sum.samples), 2.5);
  EXPECT_EQ(to_number(sum.weight), 1e6);
  EXPECT_FALSE(sum.detailed());
  // Nor with newer sums beside it, nor when it is written anew.
  CostSum newer;
  newer.weight = newer.kernel = to_parts(1e6);
  EXPECT_TRUE(newer.detailed());
  newer.add(sum);
  EXPECT_FALSE(newer.detailed());
  const auto again = decoded(encoded(*older));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_TRUE(again->costs == older->costs);
}

TEST(SummaryVersions, RefusesWhatCannotBe) {
  const auto good = decoded(cost_file(kSummaryVersionMajor, [](v1::SummaryBlock&) {}));
  ASSERT_TRUE(good) << good.error().message;
  EXPECT_EQ(good->costs.begin()->first.plan, 7u);
  EXPECT_TRUE(good->costs.begin()->second.detailed());
  const std::function<void(v1::SummaryBlock&)> wrong[] = {
      [](auto& block) { block.mutable_costs()->set_plan(0, 3); },
      [](auto& block) { block.set_plans(0, 0); },
      [](auto& block) { block.mutable_costs()->clear_plan(); },
      [](auto& block) { block.mutable_costs()->add_samples(1); },
      [](auto& block) { block.mutable_costs()->mutable_kernel_weight()->set_whole(0, 1'000'001); },
      [](auto& block) { block.mutable_costs()->mutable_undetailed_weight()->add_whole(1'000'001); },
      [](auto& block) { block.mutable_costs()->mutable_sample_sum()->set_part(0, kParts); },
      [](auto& block) { block.mutable_costs()->mutable_square_sum()->add_high(std::uint64_t{1} << 44); },
      [](auto& block) {
        block.mutable_costs()->mutable_sample_sum()->add_whole(1);
        block.mutable_costs()->mutable_sample_sum()->add_whole(1);
      },
      [](auto& block) { block.set_days_until(25); },
      [](auto& block) { block.set_days_until(-24); },
      [](auto& block) { block.set_days_until(kFirstHour + 24); },  // the row is of no day's first hour
  };
  for (const auto& change : wrong)
    EXPECT_FALSE(decoded(cost_file(kSummaryVersionMajor, change))) << &change - wrong;
  EXPECT_FALSE(decoded(cost_file(kSummaryVersionMajor + 1, [](v1::SummaryBlock&) {})));
}

TEST(SummaryDays, HaveTheSumsOfTheirHours) {
  Summary summary;
  summary.first = summary.last = 1;
  for (Hour hour = kFirstHour; hour < kFirstHour + 48; ++hour) {
    summary.costs[key_at(hour, "aaaa", 1)].weight = to_parts(static_cast<double>(hour));
    RunSum run{1, 0, 5, 5, 5};
    run.elapsed.add(5);
    summary.runs[{hour, 1000, "aaaa"}] = run;
    summary.losses[hour].late = 1;
  }
  const CostSum before = all_of(summary);
  roll_up(summary, kFirstHour + 24 + 7);
  EXPECT_EQ(summary.days_until, kFirstHour + 24);
  EXPECT_EQ(summary.costs.size(), 25u);
  EXPECT_EQ(summary.runs.begin()->second.executions, 24u);
  EXPECT_EQ(summary.losses.begin()->second.late, 24u);
  EXPECT_EQ(summary.hours_of_row(kFirstHour), 24);
  EXPECT_EQ(summary.hours_of_row(kFirstHour + 24), 1);
  EXPECT_TRUE(all_of(summary) == before);
  // An hour that is added later goes into its day.
  Summary late;
  late.costs[key_at(kFirstHour + 3, "aaaa", 1)].weight = 1;
  add(summary, late);
  EXPECT_EQ(summary.costs.size(), 25u);
  const auto again = decoded(encoded(summary));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->days_until, kFirstHour + 24);
  EXPECT_EQ(encoded(*again), encoded(summary));
}

// A year of 200 queries with ten operators each, 35 days of it by the hour.
TEST(SummarySize, AYearIsWithinItsSize) {
  std::mt19937_64 random(5);
  const auto bytes_of_rows = [&](std::uint64_t samples) {
    Summary summary;
    summary.first = summary.last = 1;
    for (int query = 0; query < 200; ++query) {
      const std::string fingerprint = std::to_string(random());
      summary.queries[{1000, fingerprint}] = {"plan", "select ? from " + fingerprint};
      RunSum run{samples, 0, random() >> 20, random() >> 40, random() >> 30};
      for (int i = 0; i < 12; ++i) run.elapsed.add(random() >> 30);
      run.executions = 12;
      summary.runs[{kFirstHour, 1000, fingerprint}] = run;
      for (std::uint32_t op = 1; op <= 10; ++op) {
        profile::Sum sum;
        sum.samples = random() % samples + 1;
        sum.weight = sum.samples * (9'000'000 + random() % 2'000'000);
        sum.weight_squares = static_cast<Wide>(sum.weight) * 10'000'000;
        summary.costs[key_at(kFirstHour, fingerprint, op)].add(sum, kParts - op, op % 2 == 0, op % 3 == 0);
      }
    }
    return static_cast<double>(encoded(summary).size());
  };
  const double year = 35 * 24 * bytes_of_rows(10'000) + 330 * bytes_of_rows(240'000);
  EXPECT_LT(year, 200e6);
}

class SummaryAges : public testing::Test {
 protected:
  void SetUp() override {
    directory_ =
        testing::TempDir() + "/summary_ages_" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fresh();
  }
  void TearDown() override { stdfs::remove_all(directory_); }
  void fresh() {
    stdfs::remove_all(directory_);
    stdfs::create_directories(directory_);
  }

  // Ten hours lie between one and the next.
  static Summary made(std::uint64_t segment, int queries) {
    Summary summary;
    summary.first = summary.last = segment;
    const Hour hour = kFirstHour + 10 * static_cast<Hour>(segment);
    for (int query = 0; query < queries; ++query) {
      for (std::uint32_t op = 1; op <= 3; ++op)
        summary.costs[key_at(hour, "query" + std::to_string(query), op)].weight =
            to_parts(1000.0 * query + op + static_cast<double>(segment));
      summary.runs[{hour, 1000, "query" + std::to_string(query)}] = {1, 0, 5, 5, 5};
    }
    summary.losses[hour].lost_ring = segment;
    return summary;
  }
  void put(std::uint64_t segments, int queries) {
    SummaryWriter writer(directory_);
    for (std::uint64_t segment = 1; segment <= segments; ++segment)
      ASSERT_TRUE(writer.put(made(segment, queries), {.merge_bytes = 0}));
  }
  Summary everything() {
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
  // By the day, so that what has become days compares with what has not.
  std::string by_day() {
    Summary sum = everything();
    roll_up(sum, kFirstHour + 2400);
    return encoded(sum);
  }

  std::string directory_;
};

constexpr std::uint64_t kAgedAt = static_cast<std::uint64_t>(kFirstHour + 45 + 35 * 24) * kHourNs;

TEST_F(SummaryAges, OldHoursBecomeDays) {
  put(8, 2);
  const std::string before = by_day();
  SummaryWriter writer(directory_);
  ASSERT_TRUE(writer.retain({.keep_bytes = 0, .keep_ns = 0}, kAgedAt));
  const auto files = list_summaries(directory_);
  ASSERT_TRUE(files);
  EXPECT_EQ(files->size(), 7u) << "the first two, of one day, are one file";
  EXPECT_EQ(files->front().last, 2u);
  const auto oldest = read_summary(directory_, files->front());
  ASSERT_TRUE(oldest) << oldest.error().message;
  EXPECT_EQ(oldest->costs.begin()->first.hour, kFirstHour);
  EXPECT_EQ(oldest->costs.size(), 2u * 3);
  const auto third = read_summary(directory_, (*files)[1]);
  ASSERT_TRUE(third) << third.error().message;
  EXPECT_EQ(third->costs.begin()->first.hour, kFirstHour + 30) << "its day is not over";
  EXPECT_EQ(by_day(), before);
  // The next time nothing is left to do.
  const std::string bytes = encoded(everything());
  ASSERT_TRUE(writer.retain({.keep_bytes = 0, .keep_ns = 0}, kAgedAt));
  EXPECT_EQ(encoded(everything()), bytes);
}

TEST_F(SummaryAges, AFaultAtEveryCallNeitherLosesNorDoubles) {
  using test::Fault;
  for (const Fault fault : {Fault::kNoSpace, Fault::kFull, Fault::kIo, Fault::kKill}) {
    std::uint64_t at = 1;
    for (bool reached = true; reached; ++at) {
      fresh();
      put(5, 2);
      const std::string before = by_day();
      const SummaryRetention retention{.keep_bytes = 0, .keep_ns = 0};
      {
        test::FailingFiles files(fault, at);
        SummaryWriter writer(directory_, files);
        (void)writer.retain(retention, kAgedAt + 90 * kHourNs);
        reached = files.calls() >= at;
      }
      EXPECT_EQ(by_day(), before) << "call " << at;
      SummaryWriter next(directory_);
      ASSERT_TRUE(next.retain(retention, kAgedAt + 90 * kHourNs));
      EXPECT_EQ(by_day(), before) << "call " << at;
      EXPECT_EQ(list_summaries(directory_)->size(), 2u) << "days, and the newest one";
    }
    EXPECT_GT(at, 10u) << "there are so many calls";
  }
}

TEST_F(SummaryAges, BeyondTheSizeTheLeastExpensiveQueriesBecomeOther) {
  put(6, 60);
  std::uint64_t bytes = 0;
  for (const SummaryFile& file : *list_summaries(directory_)) bytes += file.bytes;
  const CostSum before = all_of(everything());
  SummaryWriter writer(directory_);
  const std::uint64_t keep = bytes * 3 / 4;
  ASSERT_TRUE(writer.retain({.keep_bytes = keep, .keep_ns = 0, .hours_ns = 0}, kAgedAt));
  const auto files = list_summaries(directory_);
  ASSERT_EQ(files->size(), 6u) << "no file goes";
  bytes = 0;
  for (const SummaryFile& file : *files) bytes += file.bytes;
  EXPECT_LE(bytes, keep);
  const Summary after = everything();
  EXPECT_TRUE(all_of(after) == before);
  std::uint64_t runs = 0;
  for (const auto& [key, run] : after.runs) runs += run.executions;
  EXPECT_EQ(runs, 6u * 60);
  const Summary oldest = *read_summary(directory_, files->front());
  EXPECT_TRUE(oldest.runs.contains({kFirstHour + 10, 1000, "query59"}));
  EXPECT_FALSE(oldest.runs.contains({kFirstHour + 10, 1000, "query0"}));
  EXPECT_TRUE(oldest.runs.contains({kFirstHour + 10, 1000, kOther}));
}

}  // namespace
}  // namespace tailor::store
