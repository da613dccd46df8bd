// Helpers for the columns of sample and activity blocks (rules: docs/profile-format.md, "Columns").
#pragma once

#include <cstdint>
#include <optional>
#include <unordered_map>

namespace tailor::store {

// Differences wrap at 64 bits, so that any two values have one.
inline std::int64_t wrapping_difference(std::uint64_t a, std::uint64_t b) {
  return static_cast<std::int64_t>(a - b);
}

// Leaves one value of a column whose values are all equal, none where they are all 0.
template <typename Field>
void shrink_column(Field& column) {
  for (int i = 1; i < column.size(); ++i) {
    if (column.Get(i) != column.Get(0)) return;
  }
  if (!column.empty()) column.Truncate(column.Get(0) == 0 ? 0 : 1);
}

// A column of a block that was read. Valid means: none, one or `rows` values.
template <typename Field>
class ColumnReader {
 public:
  ColumnReader(const Field& column, std::uint32_t rows) : column_(column), rows_(rows) {}

  bool valid() const { return column_.size() <= 1 || static_cast<std::uint32_t>(column_.size()) == rows_; }
  auto at(std::uint32_t row) const {
    using Value = std::decay_t<decltype(column_.Get(0))>;
    if (column_.empty()) return Value{};
    return column_.Get(column_.size() == 1 ? 0 : static_cast<int>(row));
  }

 private:
  const Field& column_;
  std::uint32_t rows_;
};

// Numbers the values of a block in the order in which they appear.
template <typename Value>
class Numbering {
 public:
  // The number of `value`, and whether it is new.
  std::pair<std::uint32_t, bool> of(const Value& value) {
    auto [it, added] = numbers_.try_emplace(value, static_cast<std::uint32_t>(numbers_.size()));
    return {it->second, added};
  }

 private:
  std::unordered_map<Value, std::uint32_t> numbers_;
};

}  // namespace tailor::store
