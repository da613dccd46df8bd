// Makes small expressions for tests.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "compiler/weft/plan/make.h"

namespace tailor::weft {

class Expressions : public testing::Test {
 protected:
  ExprPtr constant(const char* digits, int scale) {
    Int128 value = std::stoll(digits);
    return make_constant(Value::of(numeric_type(Range::of(value), scale, scale == 0, false), value));
  }
  ExprPtr unit(const char* name, Type type, Range range) { return make_iu(ius.make(name, type, range)); }
  ExprPtr equal(const ExprPtr& e, std::int64_t value) {
    return *make_compare(CompareOp::kEqual, e->clone(), make_constant(Value::int64(value)));
  }
  ExprPtr both(ExprPtr a, ExprPtr b, ExprKind kind = ExprKind::kAnd) {
    std::vector<ExprPtr> operands;
    operands.push_back(std::move(a));
    operands.push_back(std::move(b));
    return make_logic(kind, std::move(operands));
  }
  IuPool ius;
};

}  // namespace tailor::weft
