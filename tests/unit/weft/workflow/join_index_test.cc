#include "compiler/weft/workflow/join_index.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace tailor::weft::workflow {
namespace {

// The rows of a key, as generated code looks for them.
std::vector<std::uint64_t> rows_of(const std::vector<std::int64_t>& keys, std::int64_t key,
                                   const std::vector<std::uint64_t>& buckets,
                                   const std::vector<std::uint64_t>& links, const IndexShape& shape) {
  std::vector<std::uint64_t> rows;
  const std::uint64_t bucket = (static_cast<std::uint64_t>(key) * kIndexFactor) >> shape.shift();
  for (std::uint64_t link = buckets.at(bucket); link != 0; link = links.at(link - 1))
    if (keys.at(link - 1) == key) rows.push_back(link - 1);
  return rows;
}

TEST(WorkflowJoinIndex, FindsEachRowByItsKeyInTheOrderOfRows) {
  std::vector<std::int64_t> keys;
  for (std::int64_t row = 0; row < 1000; ++row) keys.push_back((row * 7919) % 100 - 50);
  const IndexShape shape = index_shape(keys.size());
  std::vector<std::uint64_t> buckets(shape.bucket_bytes() / 8, 0), links(shape.link_bytes() / 8, 0);
  ASSERT_GE(buckets.size(), keys.size());
  fill_index(shape, reinterpret_cast<const std::byte*>(keys.data()), Scalar::kI64,
             reinterpret_cast<std::byte*>(buckets.data()), reinterpret_cast<std::byte*>(links.data()),
             [] { return false; });
  for (std::int64_t key = -60; key < 60; ++key) {
    std::vector<std::uint64_t> wanted;
    for (std::uint64_t row = 0; row < keys.size(); ++row)
      if (keys[row] == key) wanted.push_back(row);
    EXPECT_EQ(rows_of(keys, key, buckets, links, shape), wanted) << key;
  }
}

TEST(WorkflowJoinIndex, NarrowKeysAreTheNumbersThatTheyAre) {
  const std::vector<std::int32_t> narrow{-1, 5, -1};
  const IndexShape shape = index_shape(narrow.size());
  std::vector<std::uint64_t> buckets(shape.bucket_bytes() / 8, 0), links(shape.link_bytes() / 8, 0);
  fill_index(shape, reinterpret_cast<const std::byte*>(narrow.data()), Scalar::kI32,
             reinterpret_cast<std::byte*>(buckets.data()), reinterpret_cast<std::byte*>(links.data()),
             [] { return false; });
  EXPECT_EQ(rows_of({-1, 5, -1}, -1, buckets, links, shape), (std::vector<std::uint64_t>{0, 2}));
}

TEST(WorkflowJoinIndex, NoRowsAreAnIndexToo) {
  const IndexShape shape = index_shape(0);
  std::vector<std::uint64_t> buckets(shape.bucket_bytes() / 8, 0), links(shape.link_bytes() / 8, 0);
  fill_index(shape, nullptr, Scalar::kI64, reinterpret_cast<std::byte*>(buckets.data()),
             reinterpret_cast<std::byte*>(links.data()), [] { return false; });
  EXPECT_TRUE(rows_of({}, 7, buckets, links, shape).empty());
  EXPECT_EQ(buckets.size(), 2u);
}

TEST(WorkflowJoinIndex, ARunThatIsStoppedFillsNoMore) {
  const std::vector<std::int64_t> keys(100'000, 1);
  const IndexShape shape = index_shape(keys.size());
  std::vector<std::uint64_t> buckets(shape.bucket_bytes() / 8, 0), links(shape.link_bytes() / 8, 0);
  fill_index(shape, reinterpret_cast<const std::byte*>(keys.data()), Scalar::kI64,
             reinterpret_cast<std::byte*>(buckets.data()), reinterpret_cast<std::byte*>(links.data()),
             [] { return true; });
  const std::vector<std::uint64_t> found = rows_of(keys, 1, buckets, links, shape);
  EXPECT_LT(found.size(), keys.size());
}

}  // namespace
}  // namespace tailor::weft::workflow
