// A prepared SQLite statement with its arguments; for the catalogue only.
#pragma once

#include <fmt/format.h>
#include <sqlite3.h>

#include <bit>
#include <cerrno>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/store/checked_pages.h"
#include "proto/base/errors.h"
#include "proto/base/result.h"

namespace tailor::store {

// What SQLite said last. A lock that somebody else holds is EBUSY: the same works later.
inline Error catalogue_error(sqlite3* db) {
  const int code = sqlite3_errcode(db) & 0xFF;
  const bool misfit = code == SQLITE_IOERR && found_damage(db);
  if (misfit || code == SQLITE_CORRUPT || code == SQLITE_NOTADB) {
    const char* path = sqlite3_db_filename(db, "main");
    const char* what = misfit ? "a page does not fit its checksum" : sqlite3_errmsg(db);
    return internal(fmt::format(
        "the catalogue {} is damaged ({}): start tailord again, which makes it again from the segments",
        path == nullptr ? "" : path, what));
  }
  const std::string message = fmt::format("catalogue: {}", sqlite3_errmsg(db));
  if (code == SQLITE_FULL) return os_error(message, ENOSPC);
  return code == SQLITE_BUSY ? os_error(message, EBUSY) : internal(message);
}

// Unsigned 64-bit values are stored as the signed ones of the same bits.
class Statement {
 public:
  Statement(sqlite3* db, const char* sql) : db_(db) {
    code_ = sqlite3_prepare_v2(db, sql, -1, &statement_, nullptr);
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& operator<<(std::int64_t value) { return bound(sqlite3_bind_int64(statement_, ++at_, value)); }
  Statement& operator<<(std::uint64_t value) { return *this << std::bit_cast<std::int64_t>(value); }
  Statement& operator<<(int value) { return *this << static_cast<std::int64_t>(value); }
  Statement& operator<<(double value) { return bound(sqlite3_bind_double(statement_, ++at_, value)); }
  Statement& operator<<(std::string_view text) {
    return bound(
        sqlite3_bind_text(statement_, ++at_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
  }

  bool prepared() const { return statement_ != nullptr; }

  // For statements without rows.
  Status run() {
    if (code_ == SQLITE_OK) code_ = sqlite3_step(statement_);
    if (code_ == SQLITE_DONE || code_ == SQLITE_ROW) return Ok{};
    return error();
  }
  // The same, of one that is used again: it takes its arguments anew.
  Status run_and_reset() {
    Status done = run();
    sqlite3_reset(statement_);
    if (prepared()) code_ = SQLITE_OK;
    at_ = 0;
    return done;
  }
  // True while there is another row.
  Result<bool> next() {
    if (code_ == SQLITE_OK || code_ == SQLITE_ROW) code_ = sqlite3_step(statement_);
    if (code_ == SQLITE_ROW) return true;
    if (code_ == SQLITE_DONE) return false;
    return error();
  }
  // All further rows, as `row` makes them of this statement.
  template <typename Row>
  auto all(const Row& row) -> Result<std::vector<decltype(row(*this))>> {
    std::vector<decltype(row(*this))> rows;
    for (;;) {
      auto more = next();
      if (!more) return more.error();
      if (!*more) return rows;
      rows.push_back(row(*this));
    }
  }
  std::int64_t integer(int column) const { return sqlite3_column_int64(statement_, column); }
  std::uint64_t number(int column) const { return std::bit_cast<std::uint64_t>(integer(column)); }
  double real(int column) const { return sqlite3_column_double(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, column));
    return bytes == nullptr
               ? ""
               : std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column)));
  }

 private:
  Statement& bound(int code) {
    if (code_ == SQLITE_OK) code_ = code;
    return *this;
  }
  Error error() const { return catalogue_error(db_); }

  sqlite3* db_;
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
  int at_ = 0;
};

}  // namespace tailor::store
