// The answer of a query, for the client.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "compiler/weft/types/value.h"

namespace tailor::weft {

struct ResultSet {
  std::vector<std::string> names;
  std::vector<Value> values;  // row by row: one allocation for all
  std::uint64_t rows = 0;

  const Value& at(std::uint64_t row, std::size_t column) const { return values[row * names.size() + column]; }
};

enum class ResultFormat { kPipes, kCsv, kJson };

// With a header; JSON is an array of objects, numbers unquoted.
void print(std::ostream& out, const ResultSet& result, ResultFormat format);
// As print() writes a value with kPipes: texts bare, null as "null".
std::string plain_text(const Value& value);

}  // namespace tailor::weft
