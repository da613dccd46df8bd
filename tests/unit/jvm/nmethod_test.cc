// What is read of a piece of compiled code, by descriptions of HotSpot's structures as different JDKs give
// them.
#include "agent/jvm/nmethod.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tailor::jvm {
namespace {

constexpr std::int64_t kCodeBegin = 16, kCodeEnd = 24, kFrameSize = 32, kComplete = 36, kLevel = 48,
                       kEntry = 56;

VmField of_blob(const char* field, const char* kind, std::int64_t offset) {
  return {"CodeBlob", field, kind, offset, 0};
}

// The level has this type, of this many bytes.
std::vector<VmField> fields(const char* level_kind, std::uint32_t level_bytes) {
  return {of_blob("_code_begin", "address", kCodeBegin),
          of_blob("_code_end", "address", kCodeEnd),
          of_blob("_frame_size", "int", kFrameSize),
          of_blob("_frame_complete_offset", "int16_t", kComplete),
          {"nmethod", "_comp_level", level_kind, kLevel, level_bytes},
          {"nmethod", "_entry_bci", "int", kEntry, 4}};
}

// Memory with a blob in front of its code.
class FakeBlob {
 public:
  FakeBlob() : bytes_(1u << 16) {
    put<std::uint64_t>(kCodeBegin, begin());
    put<std::uint64_t>(kCodeEnd, begin() + kSize);
    put<std::int32_t>(kFrameSize, 6);
    put<std::int16_t>(kComplete, 12);
    put<std::int32_t>(kEntry, -1);
  }

  template <typename T>
  void put(std::int64_t offset, T value) {
    std::memcpy(bytes_.data() + kBlob + offset, &value, sizeof value);
  }
  std::optional<NmethodFacts> facts(const std::vector<VmField>& fields) const {
    return NmethodReader(fields).facts(begin(), kSize);
  }

 private:
  static constexpr std::size_t kBlob = 1u << 15, kCode = 256;
  static constexpr std::uint32_t kSize = 512;

  std::uint64_t begin() const { return reinterpret_cast<std::uintptr_t>(bytes_.data()) + kBlob + kCode; }

  std::vector<char> bytes_;
};

TEST(Nmethod, OfALevelWithFourBytesAllAreRead) {
  FakeBlob blob;
  blob.put<std::int32_t>(kLevel, 4);
  const auto facts = blob.facts(fields("int", 4));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->level, 4);
  EXPECT_FALSE(facts->osr);
  EXPECT_EQ(facts->frame_words, 6u);
  EXPECT_EQ(facts->frame_complete, 12u);
}

// Since JDK 23: what lies beside it is another field's.
TEST(Nmethod, OfALevelWithOneByteNoOtherIsRead) {
  FakeBlob blob;
  blob.put<std::uint32_t>(kLevel, 0xA5A5A503);
  const auto facts = blob.facts(fields("CompLevel", 1));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->level, 3);
}

TEST(Nmethod, ALevelOfATypeThatNobodyDescribesIsNotKnown) {
  FakeBlob blob;
  blob.put<std::int32_t>(kLevel, 4);
  for (std::uint32_t bytes : {0u, 3u, 8u}) {
    const auto facts = blob.facts(fields("CompLevel", bytes));
    ASSERT_TRUE(facts) << bytes;
    EXPECT_EQ(facts->level, -1) << bytes;
  }
}

TEST(Nmethod, ANegativeOffsetOfTwoBytesSaysThatTheFrameIsThereFromTheBegin) {
  FakeBlob blob;
  blob.put<std::int16_t>(kComplete, -1);
  blob.put<std::int32_t>(kEntry, 7);
  const auto facts = blob.facts(fields("int", 4));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->frame_complete, 0u);
  EXPECT_TRUE(facts->osr);
}

TEST(Nmethod, CodeThatNoBlobNamesHasNoFacts) {
  FakeBlob blob;
  blob.put<std::uint64_t>(kCodeEnd, 1);
  EXPECT_FALSE(blob.facts(fields("int", 4)));
  EXPECT_FALSE(blob.facts({}));
}

}  // namespace
}  // namespace tailor::jvm
