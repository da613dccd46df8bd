#include "compiler/weft/workflow/join_index.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tailor::weft::workflow {
namespace {

constexpr std::uint64_t kRowsBetweenQuestions = 16'384;

template <typename T>
T value_at(const std::byte* array, std::uint64_t index) {
  T value;
  std::memcpy(&value, array + index * sizeof(T), sizeof(T));
  return value;
}

void put_word(std::byte* array, std::uint64_t index, std::uint64_t value) {
  std::memcpy(array + index * sizeof(value), &value, sizeof(value));
}

}  // namespace

IndexShape index_shape(std::uint64_t rows) {
  return {rows, std::max(static_cast<unsigned>(std::bit_width(rows)), 1u)};
}

void fill_index(const IndexShape& shape, const std::byte* keys, Scalar scalar, std::byte* buckets,
                std::byte* links, const std::function<bool()>& stopped) {
  // From the last row on: each one becomes the first of its chain.
  for (std::uint64_t row = shape.rows; row-- > 0;) {
    if (row % kRowsBetweenQuestions == 0 && stopped()) return;
    const std::int64_t key =
        scalar == Scalar::kI64 ? value_at<std::int64_t>(keys, row) : value_at<std::int32_t>(keys, row);
    const std::uint64_t bucket = (static_cast<std::uint64_t>(key) * kIndexFactor) >> shape.shift();
    put_word(links, row, value_at<std::uint64_t>(buckets, bucket));
    put_word(buckets, bucket, row + 1);
  }
}

}  // namespace tailor::weft::workflow
