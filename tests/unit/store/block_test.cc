#include "daemon/store/block.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/store/crc32c.h"

namespace tailor::store {
namespace {

std::span<const std::uint8_t> bytes(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

TEST(Crc32c, KnownAnswers) {
  EXPECT_EQ(crc32c(bytes("123456789")), 0xE3069283u);
  EXPECT_EQ(crc32c(bytes(std::string(32, '\0'))), 0x8A9136AAu);  // RFC 3720, B.4
  EXPECT_EQ(crc32c(bytes(std::string(32, '\xff'))), 0x62A8AB43u);
  EXPECT_EQ(crc32c({}), 0u);
  std::string text = "CPUs with and without the instruction agree about texts of every length";
  for (; !text.empty(); text.pop_back()) EXPECT_EQ(crc32c(bytes(text)), crc32c_by_tables(bytes(text)));
}

TEST(FileHeader, RoundTrip) {
  const auto encoded = encode(FileHeader{FileKind::kDataSegment, kVersionMinor, 42});
  auto header = decode_file_header(encoded);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->kind, FileKind::kDataSegment);
  EXPECT_EQ(header->number, 42u);
}

TEST(FileHeader, SaysWhatIsWrong) {
  auto encoded = encode(FileHeader{});
  EXPECT_THAT(decode_file_header(std::span(encoded).first(5)).error().message,
              testing::HasSubstr("not a Tailor"));
}

TEST(FileHeader, EveryDamagedByteIsNoticed) {
  const auto good = encode(FileHeader{FileKind::kProfile, 0, 7});
  for (std::size_t i = 0; i < good.size(); ++i) {
    auto bad = good;
    bad[i] ^= 0x10;
    EXPECT_FALSE(decode_file_header(bad)) << i;
    EXPECT_FALSE(decode_file_header(std::span(good).first(i))) << i;
  }
}

TEST(BlockHeader, EveryDamagedByteIsNoticed) {
  const std::string block = make_block(BlockType::kMeta, 5, "payload");
  BlockHeader header;
  ASSERT_TRUE(decode_block_header(bytes(block), header));
  EXPECT_EQ(header.sequence, 5u);
  for (std::size_t i = 0; i < kBlockHeaderSize; ++i) {
    std::string bad = block;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    EXPECT_FALSE(decode_block_header(bytes(bad), header)) << i;
  }
}

TEST(Block, CompressesWhereThatHelps) {
  const std::string dull(100'000, 'x');
  const std::string block = make_block(BlockType::kMeta, 0, dull);
  EXPECT_LT(block.size(), 200u);
  BlockHeader header;
  ASSERT_TRUE(decode_block_header(bytes(block), header));
  EXPECT_TRUE(header.compressed);
  auto raw = unpack(header, bytes(block).subspan(kBlockHeaderSize));
  ASSERT_TRUE(raw);
  EXPECT_EQ(*raw, dull);
  const std::string tiny = make_block(BlockType::kMeta, 0, "ab");
  EXPECT_EQ(tiny.size(), kBlockHeaderSize + 2);
}

TEST(Block, DecompressionNeverExceedsTheHeader) {
  const std::string block = make_block(BlockType::kMeta, 0, std::string(1'000'000, 'x'));
  BlockHeader header;
  ASSERT_TRUE(decode_block_header(bytes(block), header));
  header.raw_size = 1000;  // a bomb that understates itself
  EXPECT_FALSE(unpack(header, bytes(block).subspan(kBlockHeaderSize)));
  header.raw_size = 2'000'000;
  EXPECT_FALSE(unpack(header, bytes(block).subspan(kBlockHeaderSize)));
}

TEST(Block, OversizedIsRefused) {
  BlockHeader header;
  header.stored_size = header.raw_size = kMaxBlockBytes + 1;
  BlockHeader read;
  EXPECT_FALSE(decode_block_header(encode(header), read));
}

}  // namespace
}  // namespace tailor::store
