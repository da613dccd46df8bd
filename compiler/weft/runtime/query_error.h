// What ends a running query early. It is thrown through generated code, which holds nothing to release, and
// caught by the scheduler where it called the generated code.
#pragma once

#include <string>
#include <utility>

namespace tailor::weft {

struct QueryError {
  std::string message;
};

[[noreturn]] inline void fail(std::string message) {
  throw QueryError{std::move(message)};
}

}  // namespace tailor::weft
