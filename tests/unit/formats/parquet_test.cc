// What DuckDB reads of the files is in tests/e2e/parquet.py; here are the parts that it would not miss.
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "daemon/formats/parquet_column.h"
#include "daemon/formats/parquet_writer.h"
#include "daemon/formats/thrift_compact.h"
#include "proto/base/errors.h"

namespace tailor::formats {
namespace {

std::uint64_t take_varint(std::string_view& bytes) {
  std::uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const auto byte = static_cast<std::uint8_t>(bytes.front());
    bytes.remove_prefix(1);
    value |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 0x80) return value;
  }
}

std::uint32_t take_little(std::string_view& bytes, std::size_t size) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < size; ++i) value |= std::uint32_t{static_cast<std::uint8_t>(bytes[i])} << 8 * i;
  bytes.remove_prefix(size);
  return value;
}

// The way back, bit by bit as the format's text has it.
std::vector<std::uint32_t> read_hybrid(std::string_view bytes, unsigned width) {
  std::vector<std::uint32_t> out;
  while (!bytes.empty()) {
    const std::uint64_t head = take_varint(bytes);
    if ((head & 1) == 0) {
      out.insert(out.end(), head >> 1, take_little(bytes, (width + 7) / 8));
      continue;
    }
    const std::size_t count = (head >> 1) * 8;
    for (std::size_t i = 0; i < count; ++i) {
      std::uint32_t value = 0;
      for (unsigned bit = 0; bit < width; ++bit) {
        const std::size_t at = i * width + bit;
        const unsigned of_byte = static_cast<std::uint8_t>(bytes[at / 8]) >> at % 8;
        value |= (of_byte & 1u) << bit;
      }
      out.push_back(value);
    }
    bytes.remove_prefix(count * width / 8);
  }
  return out;
}

TEST(Parquet, RunsAndPackedBitsGiveBackTheirValues) {
  std::mt19937 random(7);
  for (const unsigned width : {1u, 2u, 3u, 7u, 8u, 9u, 17u, 31u, 32u}) {
    const std::uint64_t most = (std::uint64_t{1} << width) - 1;
    for (std::size_t length = 0; length < 200; length += 1 + length / 7) {
      std::vector<std::uint32_t> values;
      while (values.size() < length) {
        const std::size_t run = random() % 3 == 0 ? random() % 40 : 1;
        values.insert(values.end(), run, static_cast<std::uint32_t>(random() & most));
      }
      const std::string bytes = rle_hybrid(values, width);
      std::vector<std::uint32_t> read = read_hybrid(bytes, width);
      ASSERT_GE(read.size(), values.size()) << width;
      ASSERT_LT(read.size(), values.size() + 8) << "only the last group is filled up";
      read.resize(values.size());
      ASSERT_EQ(read, values) << width;
    }
  }
}

TEST(Parquet, ThriftFieldsCountFromTheLastOfTheirOwnStruct) {
  std::string out;
  ThriftWriter thrift(out);
  thrift.int32(1, -1);
  thrift.begin_struct(3);
  thrift.boolean(20, true);
  thrift.end_struct();
  thrift.begin_list(4, ThriftWriter::kInt32, 1);
  thrift.element(64);
  thrift.end_struct();
  EXPECT_EQ(out, std::string("\x15\x01\x2C\x01\x28\x00\x19\x15\x80\x01\x00", 11));
}

struct Written {
  std::size_t bytes = 0, pieces = 0;
  ParquetWriter::Put put() {
    return [this](std::string_view piece) -> Status {
      bytes += piece.size();
      ++pieces;
      return Ok{};
    };
  }
};

TEST(Parquet, LongTextsEndARowGroupEarly) {
  Written written;
  ParquetWriter writer({{"text", ParquetType::kText}}, "test version 1", {}, written.put());
  const std::size_t rows = ParquetWriter::kMostBytes / (1u << 20) + 1;
  for (std::size_t i = 0; i < rows; ++i) {
    writer.text(std::to_string(i) + std::string(1u << 20, 'x'));
    ASSERT_TRUE(writer.end_row());
  }
  EXPECT_GT(written.pieces, 0u) << "all of it waits in memory";
}

TEST(Parquet, TheSameTextTakesMemoryOnce) {
  Written written;
  ParquetWriter writer({{"text", ParquetType::kText}}, "test version 1", {}, written.put());
  for (std::size_t i = 0; i < 1000; ++i) {
    writer.text(std::string(1u << 20, 'x'));
    ASSERT_TRUE(writer.end_row());
  }
  EXPECT_EQ(written.pieces, 0u);
  ASSERT_TRUE(writer.finish());
  EXPECT_LT(written.bytes, 1u << 20);
}

TEST(Parquet, AFullDiskIsSaidAtTheRowThatFindsIt) {
  ParquetWriter writer({{"n", ParquetType::kInt64}}, "test version 1", {},
                       [](std::string_view) -> Status { return os_error("cannot write", ENOSPC); });
  Status said = Ok{};
  for (std::size_t i = 0; i < ParquetWriter::kMostRows && said.ok(); ++i) {
    writer.number(i);
    said = writer.end_row();
  }
  ASSERT_FALSE(said.ok());
  EXPECT_EQ(said.error().code, ENOSPC);
}

TEST(ParquetDeathTest, ACellOfAnotherTypeIsADefect) {
  Written written;
  ParquetWriter writer({{"n", ParquetType::kInt64}}, "test version 1", {}, written.put());
  EXPECT_DEATH(writer.text("no number"), "");
  EXPECT_DEATH(writer.null(), "");
  EXPECT_DEATH((void)writer.end_row().ok(), "");
}

}  // namespace
}  // namespace tailor::formats
