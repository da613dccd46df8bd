// SQL types of weft, and the machine representation a value of a type and range has in generated code.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/weft/types/range.h"

namespace tailor::weft {

enum class TypeId : std::uint8_t {
  kBool,
  kInt32,
  kInt64,
  kDecimal,  // fixed point: an integer that stands for itself / 10^scale
  kDate,     // days since 1970-01-01
  kChar1,    // one byte
  kString,   // pointer and length, bytes compared as unsigned
};

struct Type {
  TypeId id = TypeId::kBool;
  std::uint8_t precision = 0;  // decimals only: digits altogether, at most 38
  std::uint8_t scale = 0;      // decimals only: digits behind the point
  bool nullable = false;

  static constexpr Type boolean(bool null = false) { return {TypeId::kBool, 0, 0, null}; }
  static constexpr Type int32(bool null = false) { return {TypeId::kInt32, 0, 0, null}; }
  static constexpr Type int64(bool null = false) { return {TypeId::kInt64, 0, 0, null}; }
  static constexpr Type decimal(int precision, int scale, bool null = false) {
    return {TypeId::kDecimal, static_cast<std::uint8_t>(precision), static_cast<std::uint8_t>(scale), null};
  }
  static constexpr Type date(bool null = false) { return {TypeId::kDate, 0, 0, null}; }
  static constexpr Type char1(bool null = false) { return {TypeId::kChar1, 0, 0, null}; }
  static constexpr Type string(bool null = false) { return {TypeId::kString, 0, 0, null}; }

  constexpr Type with_null(bool null) const { return {id, precision, scale, null}; }
  // Integers and decimals: what arithmetic takes. Scale is 0 for integers.
  constexpr bool is_numeric() const {
    return id == TypeId::kInt32 || id == TypeId::kInt64 || id == TypeId::kDecimal;
  }
  constexpr bool has_range() const { return is_numeric() || id == TypeId::kDate; }
  // The same values in the same representation, null or not.
  constexpr bool same_but_null(const Type& other) const {
    return id == other.id && (id != TypeId::kDecimal || scale == other.scale);
  }
  bool operator==(const Type&) const = default;
};

// How a value is held in registers, hash table tuples and sort runs. Columns in storage may be narrower.
enum class Width : std::uint8_t {
  k1,       // bool
  k8,       // char(1)
  k32,      // int32, date
  k64,      // int64; decimals whose range fits
  k128,     // the other decimals
  kString,  // pointer and 64-bit length
};

// The width of a value of `type` in `range`. An int64 that a range proof cannot hold does not exist: its
// arithmetic is checked.
Width width_of(const Type& type, const Range& range);

// The full range of a type: of a decimal by its precision.
Range range_of(const Type& type);

// "decimal(12,2)", "date", "string"; nullability is not part of the name.
std::string to_string(const Type& type);

}  // namespace tailor::weft
