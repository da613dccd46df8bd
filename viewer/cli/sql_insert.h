// Fills tables of SQLite.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "proto/base/errors.h"
#include "proto/base/result.h"

namespace tailor::cli {

// As an optional, which gcc takes for uninitialised in SqlInsert::row.
struct Nullable {
  std::int64_t value;
  bool null;
};

// Fills one table; the first problem is kept.
class SqlInsert {
 public:
  SqlInsert(sqlite3* db, const char* sql) : db_(db) {
    check(sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr));
  }
  ~SqlInsert() { sqlite3_finalize(statement_); }
  SqlInsert(const SqlInsert&) = delete;
  SqlInsert& operator=(const SqlInsert&) = delete;

  template <typename... Values>
  void row(const Values&... values) {
    if (problem_) return;
    int at = 0;
    (bind(++at, values), ...);
    if (sqlite3_step(statement_) != SQLITE_DONE) check(SQLITE_ERROR);
    sqlite3_reset(statement_);
  }
  Status done() const { return problem_ ? Status(*problem_) : Status(Ok{}); }

 private:
  template <typename Value>
  void bind(int at, const Value& value) {
    if constexpr (std::is_convertible_v<Value, std::string_view>) {
      const std::string_view text = value;
      check(sqlite3_bind_text64(statement_, at, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8));
    } else if constexpr (std::is_floating_point_v<Value>) {
      check(sqlite3_bind_double(statement_, at, value));
    } else {
      check(sqlite3_bind_int64(statement_, at, static_cast<std::int64_t>(value)));
    }
  }
  void bind(int at, const Nullable& value) {
    value.null ? check(sqlite3_bind_null(statement_, at)) : bind(at, value.value);
  }
  template <typename Value>
  void bind(int at, const std::optional<Value>& value) {
    value ? bind(at, *value) : check(sqlite3_bind_null(statement_, at));
  }
  void check(int code) {
    if (code != SQLITE_OK && !problem_) problem_ = internal(fmt::format("SQLite: {}", sqlite3_errmsg(db_)));
  }

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  std::optional<Error> problem_;
};

}  // namespace tailor::cli
