#include "daemon/profile/cell_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tailor::profile {
namespace {

TEST(CellSums, AreThoseOfAMap) {
  std::mt19937_64 random(5);
  CellSums sums;
  std::map<CellKey, Cell> naive;
  for (int i = 0; i < 200'000; ++i) {
    SampleRecord sample;
    sample.process = {static_cast<std::int32_t>(random() % 3), random() % 2};
    sample.source = static_cast<std::uint16_t>(random() % 2);
    sample.weight = random() % 100;
    Attribution& a = sample.attribution;
    a.how = static_cast<How>(random() % 3);
    a.quality = static_cast<Quality>(random() % 2);
    a.kernel = random() % 2 != 0;
    a.pipeline = static_cast<std::uint16_t>(random() % 3);
    a.link = static_cast<std::uint32_t>(random() % 20);
    a.plan = random() % 3;
    a.code = random() % 2;
    a.execution = random() % 4;
    sums.add(std::span(&sample, 1));
    CellKey key;
    key.process = sample.process;
    key.source = sample.source;
    key.how = a.how;
    key.quality = a.quality;
    key.kernel = a.kernel;
    key.pipeline = a.pipeline;
    key.link = a.link;
    key.plan = a.plan;
    key.code = a.code;
    key.execution = a.execution;
    Cell& cell = naive[key];
    const auto weight = static_cast<double>(sample.weight);
    ++cell.samples;
    cell.weight += weight;
    cell.weight_squares += weight * weight;
  }
  const Cells found = sums.take();
  ASSERT_EQ(found.size(), naive.size());
  auto expected = naive.begin();
  for (const auto& [key, cell] : found) {
    EXPECT_EQ(key, expected->first);
    EXPECT_EQ(cell.samples, expected->second.samples);
    EXPECT_EQ(cell.weight, expected->second.weight);
    EXPECT_EQ(cell.weight_squares, expected->second.weight_squares);
    ++expected;
  }
  EXPECT_TRUE(sums.take().empty());
}

// Sums of samples of which some have a number, as few as the numbers of keys or as many as the samples.
Cells sums_of(std::vector<SampleRecord> samples, std::uint64_t numbers, bool wrongly) {
  std::mt19937_64 random(8);
  CellSums sums;
  for (SampleRecord& sample : samples) {
    const std::uint64_t key = wrongly ? 0 : sample.attribution.link * 2 + sample.attribution.kernel;
    if (random() % 4 != 0) sample.alike = 1 + key + 1000 * (random() % numbers);
  }
  for (std::size_t at = 0, some = 0; at < samples.size(); at += some) {
    some = std::min<std::size_t>(samples.size() - at, 1 + random() % 100);
    sums.add(std::span(samples).subspan(at, some));
  }
  return sums.take();
}

TEST(CellSums, AreTheSameOfNumberedSamples) {
  std::mt19937_64 random(7);
  std::vector<SampleRecord> samples(50'000);
  CellSums sums;
  for (SampleRecord& sample : samples) {
    sample.weight = random() % 100;
    sample.latency = random() % 2 == 0 ? 0 : 7;
    sample.attribution.link = static_cast<std::uint32_t>(random() % 200);
    sample.attribution.kernel = random() % 2 != 0;
  }
  sums.add(samples);
  const Cells expected = sums.take();
  const auto same = [&](const Cells& found) {
    return std::ranges::equal(expected, found, [](const auto& a, const auto& b) {
      return a.first == b.first && a.second.samples == b.second.samples &&
             a.second.weight == b.second.weight && a.second.weight_squares == b.second.weight_squares &&
             a.second.latency == b.second.latency && a.second.latency_samples == b.second.latency_samples;
    });
  };
  EXPECT_TRUE(same(sums_of(samples, 1, false)));
  EXPECT_TRUE(same(sums_of(samples, 100, false)));
  EXPECT_TRUE(same(sums_of(samples, 1'000'000, false)));
  EXPECT_FALSE(same(sums_of(samples, 1, true))) << "the twin: what is not alike has one number";
}

// Whatever values the fields have, the key that comes out is the one that went in.
TEST(CellSums, KeepEveryFieldOfAKey) {
  std::mt19937_64 random(6);
  for (int i = 0; i < 1000; ++i) {
    SampleRecord sample;
    sample.process = {static_cast<std::int32_t>(random()), random()};
    sample.source = static_cast<std::uint16_t>(random());
    sample.address_from = static_cast<AddressFrom>(random() % 3);
    sample.skid = static_cast<std::uint8_t>(random());
    sample.wait = static_cast<Wait>(random() % kWaits);
    sample.region = static_cast<std::uint32_t>(random());
    sample.engine_wait = static_cast<std::uint32_t>(random());
    sample.data_source = random();
    Attribution& a = sample.attribution;
    a = {static_cast<How>(random() % 8),
         static_cast<Reason>(random() % 7),
         static_cast<Quality>(random() % 5),
         random() % 2 != 0,
         static_cast<std::uint16_t>(random()),
         false,
         static_cast<LevelIndex>(random()),
         static_cast<std::uint32_t>(random()),
         static_cast<std::uint32_t>(random()),
         static_cast<std::uint32_t>(random()),
         random(),
         random(),
         random()};
    CellSums sums;
    sums.add(std::span(&sample, 1));
    const auto cells = sums.take();
    ASSERT_EQ(cells.size(), 1u);
    EXPECT_EQ(cells.begin()->first, key_of(sample));
    const bool waited = sample.wait != Wait::kNone;
    EXPECT_EQ(cells.begin()->first.engine_wait, waited ? sample.engine_wait : 0);
    EXPECT_EQ(cells.begin()->first.region, waited ? 0 : sample.region);
  }
}

// What a file says of a sum is a sample with its key.
TEST(CellSums, TellASampleOfEachKey) {
  std::mt19937_64 random(9);
  for (int i = 0; i < 1000; ++i) {
    SampleRecord sample;
    sample.source = static_cast<std::uint16_t>(random());
    sample.data_source =
        random() % 2 == 0 ? data_source_of(static_cast<MemoryLevel>(i % kMemoryLevels)) : random();
    sample.wait = static_cast<Wait>(random() % kWaits);
    sample.engine_wait = static_cast<std::uint32_t>(random());
    sample.region = static_cast<std::uint32_t>(random());
    sample.attribution.execution = random();
    sample.attribution.kernel = random() % 2 != 0;
    sample.mode = static_cast<Mode>(random() % 3);
    sample.ip = random();
    sample.user_ip = random();
    EXPECT_EQ(key_of(sample_of(key_of(sample))), key_of(sample));
    EXPECT_EQ(place_of(sample_of(place_of(sample))), place_of(sample));
  }
  for (std::size_t level = 0; level < kMemoryLevels; ++level)
    EXPECT_EQ(memory_level(data_source_of(static_cast<MemoryLevel>(level))), static_cast<MemoryLevel>(level));
}

TEST(CellSums, StayAtTheGreatestValueWhereTheyExceedIt) {
  SampleRecord sample;
  sample.weight = UINT64_MAX;
  CellSums sums;
  for (int i = 0; i < 3; ++i) sums.add(std::span(&sample, 1));
  const auto found = sums.take_sums();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].second.samples, 3u);
  EXPECT_EQ(found[0].second.weight, UINT64_MAX);
  EXPECT_TRUE(found[0].second.weight_squares == static_cast<Sum::Wide>(-1));
}

}  // namespace
}  // namespace tailor::profile
