#include "compiler/weft/types/type.h"

#include <fmt/format.h>

namespace tailor::weft {

Width width_of(const Type& type, const Range& range) {
  switch (type.id) {
    case TypeId::kBool:
      return Width::k1;
    case TypeId::kChar1:
      return Width::k8;
    case TypeId::kInt32:
    case TypeId::kDate:
      return Width::k32;
    case TypeId::kInt64:
      return Width::k64;
    case TypeId::kDecimal:
      return range.fits(kRange64) ? Width::k64 : Width::k128;
    case TypeId::kString:
      return Width::kString;
  }
  __builtin_unreachable();
}

Range range_of(const Type& type) {
  switch (type.id) {
    case TypeId::kInt32:
    case TypeId::kDate:
      return kRange32;
    case TypeId::kInt64:
      return kRange64;
    case TypeId::kDecimal: {
      Int128 limit = power_of_ten(type.precision) - 1;
      return {-limit, limit};
    }
    default:
      return Range::all();
  }
}

std::string to_string(const Type& type) {
  switch (type.id) {
    case TypeId::kBool:
      return "bool";
    case TypeId::kInt32:
      return "int32";
    case TypeId::kInt64:
      return "int64";
    case TypeId::kDecimal:
      return fmt::format("decimal({},{})", type.precision, type.scale);
    case TypeId::kDate:
      return "date";
    case TypeId::kChar1:
      return "char(1)";
    case TypeId::kString:
      return "string";
  }
  __builtin_unreachable();
}

}  // namespace tailor::weft
