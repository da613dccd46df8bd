#include "viewer/cli/sql_functions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "daemon/query/sums/terms.h"
#include "proto/base/file_id.h"
#include "proto/base/utf8.h"

namespace tailor::cli {
namespace {

constexpr const char* kFunctionSchema =
    R"(CREATE TABLE function_names (      -- functions of the samples and of their callers
  function INTEGER PRIMARY KEY,
  name TEXT,                       -- as tailor report --level function has it; '[unknown]': nothing names it
  library TEXT,                    -- its file, '[kernel]', a module of the kernel, '[jit]'; NULL: in no file
  kind TEXT,                       -- 'user', 'kernel', 'generated', 'unknown'
  source_file TEXT,                -- if the name is known in this source file only; else NULL
  begins_at INTEGER,               -- in its file or kernel; NULL: not known
  why TEXT                         -- why nothing names it; else NULL
);
CREATE TABLE function_costs (      -- what they cost in what is shown
  function INTEGER, source TEXT, unit TEXT,
  self_samples INTEGER,            -- in their own code
  self_weight INTEGER,             -- in the unit of the source
  total_samples INTEGER,           -- with the function anywhere on the call chain
  total_weight INTEGER
);
CREATE VIEW functions AS           -- both together
  SELECT name, library, source, unit, self_samples, self_weight, total_samples, total_weight, kind, source_file,
    begins_at, why, function
  FROM function_costs JOIN function_names USING (function);
CREATE TABLE places (              -- addresses of code
  place INTEGER PRIMARY KEY, function INTEGER,
  code_address INTEGER,            -- in a file the offset there, else the address itself
  path TEXT, build_id TEXT         -- of the file; NULL: in no file, or not known
);
CREATE TABLE stacks (              -- a tree of call chains
  stack INTEGER PRIMARY KEY,
  caller INTEGER,                  -- the stack of the calling function; NULL: the outermost that is known
  place INTEGER
);
CREATE VIEW function_samples AS    -- a row for each sample and each operator that has a part of it; one for a sample of none
  SELECT s.time_ns, s.tid, s.weight * coalesce(o.part, 1) AS weight, f.name AS function_name, f.library,
    s.function, s.code_address, s.stack, s.address, s.range, s.latency, c.*, p.id AS operator,
    p.name AS operator_name
  FROM samples s JOIN cells c USING (cell) LEFT JOIN function_names f USING (function)
  LEFT JOIN owners o ON o.cell = c.cell AND o.level = 0
  LEFT JOIN operators p ON p.pid = c.pid AND p.plan = c.plan AND p.id = o.id;
)";

std::uint64_t key_of(std::uint32_t number, std::uint16_t source) {
  return std::uint64_t{number} << 16 | source;
}

std::optional<std::string> text_or_null(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

Nullable number_or_null(std::uint64_t number) {
  return {static_cast<std::int64_t>(number), number == 0};
}

}  // namespace

SqlFunctions::SqlFunctions(const query::Profile& profile)
    : profile_(profile),
      sums_(profile.functions()),
      names_(profile),
      nodes_(sums_.nodes.size()),
      places_(sums_.places.size()),
      functions_(names_.size()) {}

std::string_view SqlFunctions::schema() {
  return kFunctionSchema;
}

bool SqlFunctions::has(std::string_view table, std::string_view column) {
  static constexpr std::string_view kTables[] = {"function_names", "function_costs", "places", "stacks"};
  static constexpr std::string_view kOfSamples[] = {"stack", "function", "code_address"};
  const auto& names = table == "samples" ? std::span<const std::string_view>(kOfSamples) : kTables;
  return std::ranges::find(names, table == "samples" ? column : table) != names.end();
}

SqlFunctions::Code SqlFunctions::add(const query::TimedSample& sample) {
  if (sample.node == 0) return {{0, true}, {0, true}, {0, true}};
  by_node_[key_of(sample.node, sample.key->source)].add({1, sample.weight});
  use(sample.node);
  const std::uint32_t place = sums_.nodes[sample.node].place;
  return {{sample.node, false}, {names_.of_place(place), false}, number_or_null(sums_.places[place].address)};
}

// The node and its callers, as far as they are not known yet.
void SqlFunctions::use(std::uint32_t node) {
  for (; node != 0 && !nodes_[node]; node = sums_.nodes[node].caller) {
    nodes_[node] = true;
    places_[sums_.nodes[node].place] = true;
    functions_[names_.of_place(sums_.nodes[node].place)] = true;
  }
}

Status SqlFunctions::fill(sqlite3* db) {
  if (Status done = fill_names(db); !done.ok()) return done;
  if (Status done = fill_costs(db); !done.ok()) return done;
  if (Status done = fill_places(db); !done.ok()) return done;
  return fill_stacks(db);
}

Status SqlFunctions::fill_names(sqlite3* db) const {
  SqlInsert table(db, "INSERT INTO function_names VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (std::uint32_t i = 0; i < names_.size(); ++i) {
    if (!functions_[i]) continue;
    const query::Function& function = names_.at(i);
    table.row(i, query::shown_name(function), text_or_null(function.object),
              query::function_kind_key(function.kind), text_or_null(function.source),
              number_or_null(function.begin), text_or_null(function.why));
  }
  return table.done();
}

std::unordered_map<SqlFunctions::Key, SqlFunctions::Cost> SqlFunctions::costs() const {
  std::unordered_map<Key, Cost> out;
  std::vector<std::uint32_t> chain;
  for (const auto& [key, sum] : by_node_) {
    const auto source = static_cast<std::uint16_t>(key);
    names_.chain_of(sums_, static_cast<std::uint32_t>(key >> 16), chain);
    out[key_of(chain.front(), source)].self.add(sum);
    // Recursion counts once.
    std::ranges::sort(chain);
    chain.erase(std::unique(chain.begin(), chain.end()), chain.end());
    for (const std::uint32_t function : chain) out[key_of(function, source)].total.add(sum);
  }
  return out;
}

Status SqlFunctions::fill_costs(sqlite3* db) const {
  SqlInsert table(db, "INSERT INTO function_costs VALUES (?, ?, ?, ?, ?, ?, ?)");
  const auto unordered = costs();
  for (const auto& [key, cost] : std::map<Key, Cost>(unordered.begin(), unordered.end())) {
    const profile::Source source = profile_.source(static_cast<std::uint16_t>(key));
    table.row(key >> 16, source.name, query::term(source.unit).key, cost.self.samples, cost.self.weight,
              cost.total.samples, cost.total.weight);
  }
  return table.done();
}

Status SqlFunctions::fill_places(sqlite3* db) const {
  SqlInsert table(db, "INSERT INTO places VALUES (?, ?, ?, ?, ?)");
  for (std::uint32_t i = 0; i < places_.size(); ++i) {
    if (!places_[i]) continue;
    const query::CodePlace& place = sums_.places[i];
    const bool in_file = place.kind == query::CodePlace::Kind::kFile;
    table.row(i, names_.of_place(i), number_or_null(place.address),
              text_or_null(in_file ? replace_non_utf8(sums_.files[place.file].path) : std::string()),
              text_or_null(in_file ? only_build_id(sums_.files[place.file].build_id) : ""));
  }
  return table.done();
}

Status SqlFunctions::fill_stacks(sqlite3* db) const {
  SqlInsert table(db, "INSERT INTO stacks VALUES (?, ?, ?)");
  for (std::uint32_t i = 1; i < nodes_.size(); ++i) {
    if (nodes_[i]) table.row(i, number_or_null(sums_.nodes[i].caller), sums_.nodes[i].place);
  }
  return table.done();
}

}  // namespace tailor::cli
