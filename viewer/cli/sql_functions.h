// The functions of samples and their call chains as tables of SQLite.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "daemon/query/load/profile.h"
#include "daemon/query/sums/named_functions.h"
#include "proto/base/result.h"
#include "viewer/cli/sql_insert.h"

struct sqlite3;

namespace tailor::cli {

// One thread.
class SqlFunctions {
 public:
  // `profile` must have been loaded with LoadOptions::functions, and outlive it.
  explicit SqlFunctions(const query::Profile& profile);

  // The statements that make the tables. They come after those of SqlTables.
  static std::string_view schema();
  // Whether such a column has values only where functions were asked for.
  static bool has(std::string_view table, std::string_view column);

  // What a sample has in the table of samples.
  struct Code {
    Nullable stack, function, address;
  };
  // Counts the sample.
  Code add(const query::TimedSample& sample);

  // Of the samples that were added. Once.
  Status fill(sqlite3* db);

 private:
  struct Sum {
    std::uint64_t samples = 0, weight = 0;
    void add(const Sum& other) { samples += other.samples, weight += other.weight; }
  };
  using Key = std::uint64_t;  // a number, and the source in the last 16 bits
  struct Cost {
    Sum self, total;
  };

  void use(std::uint32_t node);
  std::unordered_map<Key, Cost> costs() const;
  Status fill_names(sqlite3* db) const;
  Status fill_costs(sqlite3* db) const;
  Status fill_places(sqlite3* db) const;
  Status fill_stacks(sqlite3* db) const;

  const query::Profile& profile_;
  const query::FunctionSums& sums_;
  query::NamedFunctions names_;
  std::unordered_map<Key, Sum> by_node_;
  std::vector<bool> nodes_, places_, functions_;  // those that are in the tables
};

}  // namespace tailor::cli
