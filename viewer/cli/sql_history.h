// The sums of a store as tables of SQLite: what is left of samples that were deleted, and what the others
// come to.
#pragma once

#include <string>
#include <string_view>

#include "daemon/store/summary.h"
#include "proto/base/result.h"

struct sqlite3;

namespace tailor::cli {

class SqlHistory {
 public:
  // The statements that make the tables. They come after those of SqlFunctions.
  static std::string_view schema();
  // Whether it is one of these tables.
  static bool has(std::string_view table);

  // `fingerprint`: of one query; empty: all of them.
  static Status fill(sqlite3* db, const store::Summary& sums, const std::string& fingerprint);
};

}  // namespace tailor::cli
