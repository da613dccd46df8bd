// Files that were cut, changed or put together by somebody who means harm.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "daemon/store/file_writer.h"
#include "daemon/store/profile_reader.h"
#include "tests/support/memory_output.h"
#include "tests/support/sample_profile.h"
#include "tests/support/text_sink.h"

namespace tailor::store {
namespace {

struct Read {
  test::TextSink sink;
  ReadReport report;
  SaidLoss loss;
  bool ok = false;
};

Read read(std::string_view bytes) {
  Read r;
  MemoryInput input(bytes);
  r.ok = read_profile(input, r.sink, r.report, r.loss).ok();
  return r;
}

class Damage : public testing::Test {
 protected:
  void SetUp() override {
    auto writer = FileWriter::on(std::make_unique<test::MemoryOutput>(bytes_), {.rows_per_block = 16});
    test::give_profile(*writer, 12);
    ASSERT_TRUE(writer->finish());
    whole_ = read(bytes_);
    ASSERT_TRUE(whole_.report.clean());
    all_.insert(whole_.sink.samples.begin(), whole_.sink.samples.end());
    MemoryInput input(bytes_);
    ReadReport report;
    BlockReader reader(input, report);
    ASSERT_TRUE(reader.open());
    for (;;) {
      auto block = reader.next();
      ASSERT_TRUE(block);
      if (!*block) break;
      starts_.push_back((*block)->offset);
    }
  }

  // Nothing that was not in the original may come out of a damaged copy.
  void expect_subset(const Read& r) {
    for (const std::string& sample : r.sink.samples) ASSERT_TRUE(all_.contains(sample)) << sample;
  }

  std::string bytes_;
  Read whole_;
  std::set<std::string> all_;
  std::vector<std::uint64_t> starts_;
};

TEST_F(Damage, CutAtEveryByte) {
  for (std::size_t size = 0; size < bytes_.size(); ++size) {
    const Read r = read(std::string_view(bytes_).substr(0, size));
    ASSERT_EQ(r.ok, size >= kFileHeaderSize) << size;
    if (!r.ok) continue;
    // Every block that is whole is read, and what is missing is said.
    std::uint64_t whole_blocks = 0, end_of_last = kFileHeaderSize;
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::uint64_t end = i + 1 < starts_.size() ? starts_[i + 1] : bytes_.size();
      if (end <= size) ++whole_blocks, end_of_last = end;
    }
    ASSERT_EQ(r.report.blocks, whole_blocks) << size;
    ASSERT_EQ(r.report.tail_bytes, size - end_of_last) << size;
    ASSERT_FALSE(r.report.finished);
    ASSERT_FALSE(r.report.clean());
    expect_subset(r);
  }
}

TEST_F(Damage, OneByteChangedAnywhere) {
  for (std::size_t i = kFileHeaderSize; i < bytes_.size(); ++i) {
    std::string bad = bytes_;
    bad[i] = static_cast<char>(bad[i] ^ 0x20);
    const Read r = read(bad);
    ASSERT_TRUE(r.ok) << i;
    ASSERT_FALSE(r.report.clean()) << i;
    // One block at most is lost, and the loss is known: by the gap, or by the missing end.
    ASSERT_EQ(r.report.blocks + 1, whole_.report.blocks) << i;
    ASSERT_TRUE(r.report.missing_blocks == 1 || !r.report.finished) << i;
    expect_subset(r);
  }
}

TEST_F(Damage, BytesInsertedOrTakenAway) {
  std::mt19937 random(3);
  for (int round = 0; round < 300; ++round) {
    std::string bad = bytes_;
    const std::size_t at = kFileHeaderSize + random() % (bad.size() - kFileHeaderSize);
    const std::size_t n = 1 + random() % 60;
    if (round % 2) {
      bad.erase(at, n);
    } else {
      bad.insert(at, n, static_cast<char>(random()));
    }
    const Read r = read(bad);
    ASSERT_TRUE(r.ok);
    ASSERT_FALSE(r.report.finished && r.report.clean());
    ASSERT_GE(r.report.blocks + 3, whole_.report.blocks) << at;
    expect_subset(r);
  }
}

TEST_F(Damage, LostSamplesAreCountedAgainstTheEnd) {
  std::string bad = bytes_;
  bad[starts_[starts_.size() / 2] + kBlockHeaderSize + 3] ^= 1;
  const Read r = read(bad);
  EXPECT_TRUE(r.report.finished);
  EXPECT_EQ(r.report.damaged_spots, 1u);
  EXPECT_EQ(r.report.samples + r.report.missing_samples, whole_.report.samples);
  EXPECT_THAT(r.report.first_problem, testing::HasSubstr("checksum"));
}

TEST_F(Damage, RandomBytesNeverCrash) {
  std::mt19937 random(4);
  for (int round = 0; round < 400; ++round) {
    std::string bad = bytes_;
    for (std::uint32_t n = 1 + random() % 200; n > 0; --n) {
      bad[kFileHeaderSize + random() % (bad.size() - kFileHeaderSize)] = static_cast<char>(random());
    }
    const Read r = read(bad);
    ASSERT_TRUE(r.ok);
    expect_subset(r);
  }
}

TEST_F(Damage, ABlockReplayedOutOfTurnIsRefused) {
  const std::string copy = bytes_.substr(starts_[1], starts_[2] - starts_[1]);
  std::string bad = bytes_;
  bad.insert(starts_[5], copy);
  const Read r = read(bad);
  EXPECT_EQ(r.report.malformed_blocks, 1u);
  EXPECT_EQ(r.sink.samples, whole_.sink.samples);
}

TEST_F(Damage, BlocksWithValidChecksumsAndWildContents) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    std::string payload(random() % 300, '\0');
    for (char& c : payload) c = static_cast<char>(random());
    std::string bad = bytes_.substr(0, kFileHeaderSize);
    bad += make_block(static_cast<BlockType>(random() % 9), 0, payload);
    const Read r = read(bad);
    ASSERT_TRUE(r.ok);
  }
}

TEST_F(Damage, UnknownBlockTypesAreSkippedAndCounted) {
  std::string newer = bytes_.substr(0, kFileHeaderSize);
  newer += make_block(static_cast<BlockType>(77), 0, "from the future");
  const Read r = read(newer);
  EXPECT_EQ(r.report.unknown_blocks, 1u);
  EXPECT_EQ(r.report.malformed_blocks, 0u);
}

}  // namespace
}  // namespace tailor::store
