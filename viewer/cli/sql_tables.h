// A profile as tables of SQLite, in memory (docs/cli.md, "SQL").
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/serve/view.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"

struct sqlite3;

namespace tailor::cli {

// One thread.
class SqlTables {
 public:
  // What a statement reads.
  struct Reads {
    bool functions = false;  // addresses of code or call chains too: these cost a reader more
    bool samples = false;    // any table of samples, or of what they name
    bool history = false;    // the sums of a store
  };
  // Fails as query() does before its first row.
  static Result<Reads> reads(const std::string& sql);

  // Of what the view shows. Fails where there are no samples, or more than `kMostSamples`. Without functions,
  // their tables are empty and columns NULL; with them, the view must have been opened with
  // Detail::functions.
  static Result<SqlTables> make(const serve::View& view, bool with_functions);
  // Of the sums of a store, of one query or of all (""), and of what is damaged of the samples behind them.
  static Result<SqlTables> make(const store::Summary& sums, const std::string& fingerprint,
                                const query::StoreDamage& damage);

  // The statements that made the tables, with a comment for each column.
  static std::string schema();

  struct Value {
    enum class Kind { kNull, kInteger, kReal, kText } kind = Kind::kNull;
    std::int64_t integer = 0;
    double real = 0;
    std::string text;
  };
  // Called once with the names of the columns, then for each row. Names and values may be hostile.
  struct Rows {
    std::function<void(const std::vector<std::string>&)> columns;
    std::function<void(const std::vector<Value>&)> row;
  };
  // One statement that reads. Fails for any other, for a second one, and where SQLite does.
  Status query(const std::string& sql, const Rows& rows) const;

  static constexpr std::size_t kMostSamples = 20'000'000;

 private:
  struct Close {
    void operator()(sqlite3* db) const;
  };
  // Empty ones.
  static Result<SqlTables> open();
  explicit SqlTables(std::unique_ptr<sqlite3, Close> db) : db_(std::move(db)) {}

  std::unique_ptr<sqlite3, Close> db_;
};

}  // namespace tailor::cli
