// Helpers for the columns of sample and activity blocks (rules: docs/profile-format.md, "Columns").
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <type_traits>
#include <unordered_map>
#include <utility>

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

// Writes the values of a column, one for each of `rows` rows: the same column that shrink_column() leaves,
// but values are stored only once they differ. Most columns of a block have one value.
template <typename Field>
class ColumnWriter {
 public:
  using Value = std::decay_t<decltype(std::declval<const Field&>().Get(0))>;

  ColumnWriter(Field& column, std::size_t rows) : column_(column), most_(static_cast<int>(rows)) {}

  void add(Value value) {
    if (!uniform_) {
      column_.AddAlreadyReserved(value);
      return;
    }
    if (rows_ == 0) first_ = value;
    if (value == first_) {
      ++rows_;
      return;
    }
    uniform_ = false;
    column_.Reserve(most_);
    column_.Resize(rows_, first_);
    column_.AddAlreadyReserved(value);
  }
  // Behind the last row.
  void finish() {
    if (uniform_ && first_ != Value{}) column_.Add(first_);
  }

 private:
  Field& column_;
  int most_;
  int rows_ = 0;  // as long as all have the first value
  bool uniform_ = true;
  Value first_{};
};

// A column of a block that was read. Valid means: none, one or `rows` values. Only a valid one has values, in
// the rows below `rows`. `column` must outlive it, unchanged.
template <typename Field>
class ColumnReader {
 public:
  using Value = std::decay_t<decltype(std::declval<const Field&>().Get(0))>;

  ColumnReader(const Field& column, std::uint32_t rows)
      : values_(column.empty() ? &kZero : column.data()),
        step_(column.size() > 1 ? 1 : 0),
        valid_(column.size() <= 1 || static_cast<std::uint32_t>(column.size()) == rows) {}

  bool valid() const { return valid_; }
  // No call and no jump: a block has a million of these.
  Value at(std::uint32_t row) const { return values_[row * step_]; }

 private:
  static constexpr Value kZero{};

  const Value* values_;
  std::size_t step_;  // 0: all rows have the same value
  bool valid_;
};

// Numbers the values of a block in the order in which they appear.
template <typename Value>
class Numbering {
 public:
  // The number of `value`, and whether it is new.
  std::pair<std::uint32_t, bool> of(const Value& value) {
    // Few values come again and again.
    Recent& recent = recent_[std::hash<Value>()(value) * 0x9E3779B97F4A7C15 >> 58];
    if (recent.known && recent.value == value) return {recent.number, false};
    auto [it, added] = numbers_.try_emplace(value, static_cast<std::uint32_t>(numbers_.size()));
    recent = {true, it->second, value};
    return {it->second, added};
  }

 private:
  struct Recent {
    bool known = false;
    std::uint32_t number = 0;
    Value value{};
  };
  std::array<Recent, 64> recent_;
  std::unordered_map<Value, std::uint32_t> numbers_;
};

}  // namespace tailor::store
