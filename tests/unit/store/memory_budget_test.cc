// The writer of a profile and its readers have one budget: what is just within it is read, and what is just
// beyond it is not written, and said.
#include "daemon/store/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <new>
#include <string>

#include "daemon/store/block_writer.h"
#include "daemon/store/profile_reader.h"
#include "daemon/store/readable_block.h"
#include "tailor/v1/profile.pb.h"
#include "tests/support/memory_output.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

TEST(NamesRoom, IsFullToTheByte) {
  NamesRoom room;
  EXPECT_TRUE(room.take(names_budget(0) - 1, 0));
  EXPECT_FALSE(room.take(2, 0));
  EXPECT_TRUE(room.take(1, 0)) << "what did not fit takes nothing";
  EXPECT_FALSE(room.take(1, 0));
  EXPECT_TRUE(room.take(32, 1)) << "each byte of the file pays for so many";
  EXPECT_FALSE(room.take(1, 1));
  EXPECT_FALSE(NamesRoom().take(UINT64_MAX, 0));
}

TEST(BoundedArena, OneWithinAnotherOneTakesNothingFromIt) {
  const auto takes = [](BoundedArena& arena, std::size_t bytes) {
    try {
      return google::protobuf::Arena::CreateArray<char>(arena.get(), bytes) != nullptr;
    } catch (const std::bad_alloc&) {
      return false;
    }
  };
  BoundedArena outer(8u << 20);
  {
    BoundedArena inner(1u << 20);
    EXPECT_FALSE(takes(inner, 2u << 20));
  }
  EXPECT_TRUE(takes(outer, 4u << 20));
  EXPECT_FALSE(takes(outer, 8u << 20));
}

constexpr char tag_of(int field) {
  return static_cast<char>(field << 3 | 2);
}

// The payload of a plan with this many levels, which say nothing: two bytes each.
std::string plan_of(std::size_t levels) {
  const std::string level{tag_of(v1::Plan::kLevelsFieldNumber), '\0'};
  std::string plan;
  for (std::size_t i = 0; i < levels; ++i) plan += level;
  v1::PlanBlock block;
  block.mutable_process()->set_pid(1);
  std::string out = block.SerializeAsString();
  out += tag_of(v1::PlanBlock::kPlanFieldNumber);
  std::size_t size = plan.size();
  for (; size >= 0x80; size >>= 7) out += static_cast<char>((size & 0x7F) | 0x80);
  out += static_cast<char>(size);
  return out + plan;
}

bool can_be_read(std::size_t levels) {
  const std::string raw = plan_of(levels);
  return is_readable(pack_block(BlockType::kPlan, raw).header, raw);
}

// With one more it cannot be read.
std::size_t most_levels() {
  std::size_t most = 0, too_many = 1'000'000;
  EXPECT_TRUE(can_be_read(most));
  EXPECT_FALSE(can_be_read(too_many));
  while (too_many - most > 1) {
    const std::size_t middle = (most + too_many) / 2;
    (can_be_read(middle) ? most : too_many) = middle;
  }
  return most;
}

WriteStats write_plan(std::size_t levels, std::string& bytes) {
  BlockWriter writer(std::make_unique<test::MemoryOutput>(bytes), FileHeader{});
  writer.write(BlockType::kPlan, plan_of(levels));
  EXPECT_TRUE(writer.finish());
  return writer.stats();
}

struct ReadBack {
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
};

void read_back(const std::string& bytes, ReadBack& to) {
  MemoryInput input(bytes);
  EXPECT_TRUE(read_profile(input, to.sink, to.report, to.loss));
}

TEST(WritersBudget, ABlockWithinItIsReadAndOneBeyondItIsSaid) {
  const std::size_t most = most_levels();
  ASSERT_GT(most, 1'000u);
  std::string within, beyond;
  EXPECT_EQ(write_plan(most, within).lost_blocks, 0u);
  ReadBack read;
  read_back(within, read);
  EXPECT_TRUE(read.report.clean()) << read.report.first_problem;
  EXPECT_EQ(read.sink.records.size(), 1u);
  EXPECT_EQ(read.loss.blocks, 0u);

  EXPECT_EQ(write_plan(most + 1, beyond).lost_blocks, 1u);
  ReadBack other;
  read_back(beyond, other);
  EXPECT_TRUE(other.report.clean()) << other.report.first_problem;
  EXPECT_EQ(other.sink.records.size(), 0u);
  EXPECT_EQ(other.loss.blocks, 1u);
  EXPECT_EQ(other.loss.reason, kUnreadable);
}

// The twin: whoever does not ask writes what no reader reads.
TEST(WritersBudget, WithoutItABlockIsWrittenThatNobodyReads) {
  const auto head = encode(FileHeader{});
  std::string bytes(reinterpret_cast<const char*>(head.data()), head.size());
  bytes += make_block(BlockType::kPlan, 0, plan_of(1'000'000));
  ReadBack read;
  read_back(bytes, read);
  EXPECT_EQ(read.report.malformed_blocks, 1u);
  EXPECT_THAT(read.report.first_problem, testing::HasSubstr("more memory than a profile of its size may"));
}

// Samples are not left out for that: their blocks are larger instead.
TEST(WritersBudget, SamplesThatAreMuchAlikeAreNotCompressed) {
  std::string bytes;
  BlockWriter writer(std::make_unique<test::MemoryOutput>(bytes), FileHeader{});
  const std::string alike(100'000, '\0');
  writer.write(BlockType::kSamples, alike, {.samples = 500'000});
  const std::size_t before = bytes.size();
  EXPECT_LT(before, 10'000u);
  writer.write(BlockType::kSamples, alike, {.samples = 500'000});
  EXPECT_GT(bytes.size() - before, alike.size());
  EXPECT_EQ(writer.stats().samples, 1'000'000u);
  EXPECT_EQ(writer.stats().lost_blocks, 0u);
}

std::size_t bytes_of_samples(FileKind kind, std::string_view raw, std::uint64_t samples) {
  std::string bytes;
  FileHeader header;
  header.kind = kind;
  BlockWriter writer(std::make_unique<test::MemoryOutput>(bytes), header);
  writer.write(BlockType::kSamples, raw, {.samples = samples});
  return bytes.size() - kFileHeaderSize;
}

// A reader has its base once, and the store has any number of segments.
TEST(WritersBudget, SamplesOfASegmentArePaidForByItsOwnBytes) {
  const std::string alike(100'000, '\0');
  const std::size_t small = pack_block(BlockType::kSamples, alike).bytes.size();
  const std::uint64_t most = memory_paid(small) / 128;
  EXPECT_EQ(bytes_of_samples(FileKind::kDataSegment, alike, most), small);
  EXPECT_GT(bytes_of_samples(FileKind::kDataSegment, alike, most + 1), alike.size());
  EXPECT_EQ(bytes_of_samples(FileKind::kProfile, alike, most + 1), small) << "a file has the base for itself";
}

}  // namespace
}  // namespace tailor::store
