#include "compiler/weft/workflow/workflow.h"

#include <fmt/format.h>

namespace tailor::weft::workflow {

Error error_at(const std::string& file, Place place, const std::string& message) {
  return invalid(fmt::format("{}:{}:{}: {}", file, place.line, place.column, message));
}

const char* scalar_name(Scalar scalar) {
  switch (scalar) {
    case Scalar::kF64:
      return "f64";
    case Scalar::kF32:
      return "f32";
    case Scalar::kI64:
      return "i64";
    case Scalar::kI32:
      return "i32";
  }
  return "?";
}

std::uint64_t scalar_bytes(Scalar scalar) {
  return scalar == Scalar::kF64 || scalar == Scalar::kI64 ? 8 : 4;
}

const char* pattern_name(Pattern pattern) {
  switch (pattern) {
    case Pattern::kParallel:
      return "parallel";
    case Pattern::kSynchronous:
      return "synchronous";
    case Pattern::kAsynchronous:
      return "asynchronous";
  }
  return "?";
}

const char* operator_kind_name(OperatorKind kind) {
  switch (kind) {
    case OperatorKind::kMap:
      return "map";
    case OperatorKind::kFilter:
      return "filter";
    case OperatorKind::kFlatmap:
      return "flatmap";
    case OperatorKind::kJoin:
      return "join";
    case OperatorKind::kReduce:
      return "reduce";
    case OperatorKind::kUpdate:
      return "update";
  }
  return "?";
}

std::uint64_t Context::values() const {
  std::uint64_t values = 1;
  for (std::uint64_t extent : shape) values *= extent;
  return values;
}

}  // namespace tailor::weft::workflow
