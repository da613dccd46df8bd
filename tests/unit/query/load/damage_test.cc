// What is missing of a profile is said, and how much of it.
#include "daemon/query/load/damage.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/query/reports/plan_report.h"
#include "tests/support/profile_bytes.h"
#include "tests/support/sample_profile.h"

namespace tailor::query {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr int kRounds = 20;

std::string small_blocks() {
  std::string bytes;
  auto writer = store::FileWriter::on(std::make_unique<test::MemoryOutput>(bytes),
                                      store::EncoderOptions{.rows_per_block = 16});
  test::give_profile(*writer, kRounds);
  EXPECT_TRUE(writer->finish());
  return bytes;
}

// All samples one by one: sums would say what damaged blocks held.
Profile load_all(const std::string& bytes) {
  LoadOptions options;
  options.keep_samples = true;
  return test::load(bytes, options);
}

// Where the blocks with samples begin, and behind them their ends.
std::vector<std::pair<std::size_t, std::size_t>> sample_blocks(const std::string& bytes) {
  store::MemoryInput input(bytes);
  store::ReadReport report;
  store::BlockReader reader(input, report);
  EXPECT_TRUE(reader.open());
  std::vector<std::pair<std::size_t, std::size_t>> out;
  for (auto block = reader.next(); block && block->has_value(); block = reader.next()) {
    if ((*block)->header.type == store::BlockType::kSamples)
      out.emplace_back((*block)->offset,
                       (*block)->offset + store::kBlockHeaderSize + (*block)->header.stored_size);
  }
  return out;
}

TEST(Damage, OfAWholeProfileNothingIsSaid) {
  const Profile whole = load_all(small_blocks());
  EXPECT_EQ(damage_text(whole), "");
  EXPECT_FALSE(is_damaged(whole));
}

TEST(Damage, MissingSamplesAreCounted) {
  std::string bytes = small_blocks();
  const auto blocks = sample_blocks(bytes);
  ASSERT_GT(blocks.size(), 3u);
  bytes[blocks[1].second - 3] ^= 1;
  const Profile damaged = load_all(bytes);
  const std::uint64_t all = kRounds * test::kSamplesOfRound;
  EXPECT_EQ(damaged.read_report().missing_samples, 16u);
  EXPECT_THAT(damage_text(damaged), AllOf(HasSubstr(fmt::format("16 of {} samples are missing", all)),
                                          HasSubstr("1 block is missing"), Not(HasSubstr("ends early"))));
  EXPECT_TRUE(is_damaged(damaged));
}

TEST(Damage, OfACutFileTheBytesOfItsLastBlockAreCounted) {
  const std::string bytes = small_blocks();
  const auto [begin, end] = sample_blocks(bytes).back();
  const Profile cut = load_all(bytes.substr(0, end - 7));
  EXPECT_THAT(damage_text(cut),
              AllOf(HasSubstr("ends early"),
                    HasSubstr(fmt::format("7 of the {} bytes of a block are missing", end - begin)),
                    HasSubstr("How much came after that is not known")));
  EXPECT_TRUE(is_damaged(cut));
}

// "It was too short, or nothing was sampled" would be wrong.
TEST(Damage, WhatWasCutBeforeItsSamplesSaysSo) {
  const std::string bytes = small_blocks();
  const Profile cut = load_all(bytes.substr(0, sample_blocks(bytes).front().first + 10));
  const auto report = plan_report(cut, {});
  ASSERT_FALSE(report);
  EXPECT_EQ(report.error().kind, ErrorKind::kNotFound);
  EXPECT_THAT(report.error().message, AllOf(HasSubstr("ends early"), Not(HasSubstr("too short"))));
}

}  // namespace
}  // namespace tailor::query
