#include "viewer/cli/sql_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "daemon/query/sums/terms.h"
#include "daemon/query/time/wall_time.h"
#include "viewer/cli/sql_insert.h"

namespace tailor::cli {
namespace {

constexpr const char* kHistorySchema =
    R"(CREATE TABLE history_costs (       -- sums of the store, also where samples were deleted; only of a store
  since TEXT, since_s INTEGER,     -- begin of the hour, as RFC 3339 text and Unix time
  hours INTEGER,                   -- 1, or 24 where only days are known
  uid INTEGER,                     -- of the user who ran it; NULL: not known
  fingerprint TEXT,                -- '': outside of executions
  owner TEXT,                      -- 'operator', 'component', 'unattributed'
  plan TEXT,                       -- the shape of its plan; '': of no plan; NULL: not known, or of several
  id INTEGER, name TEXT,           -- of the operator; of the unattributed the reason
  kind TEXT,
  source TEXT, unit TEXT,          -- weights of different units cannot be added
  samples REAL, weight REAL,       -- parts of shared samples make fractions
  weight_squares REAL,             -- of the samples; NULL, as the next two: an older version did not count it
  kernel REAL, inferred REAL       -- weight in kernel mode, and of inferred locations
);
CREATE TABLE history_runs (        -- executions that ended in the hour
  since TEXT, since_s INTEGER, hours INTEGER, uid INTEGER, fingerprint TEXT,
  executions INTEGER, failed INTEGER,
  drawn INTEGER,                   -- of the executions, those that costs are of: others are not sampled
  elapsed_sum INTEGER, elapsed_min INTEGER, elapsed_max INTEGER,  -- ns, of all but the `untimed`; NULL: of none
  rows_known INTEGER, result_rows INTEGER,  -- of how many executions the rows are known, and how many these are
  untimed INTEGER                  -- executions whose elapsed time is not known
);
CREATE TABLE history_losses (      -- samples of the whole host that are in no sum
  since TEXT, since_s INTEGER, hours INTEGER,
  lost_ring INTEGER, lost_hardware INTEGER, late INTEGER, unwritten INTEGER
);
CREATE TABLE history_queries (uid INTEGER, fingerprint TEXT, name TEXT, text TEXT);
)";

constexpr std::string_view kHistoryTables[] = {"history_costs", "history_runs", "history_losses",
                                               "history_queries"};

struct SinceRow {
  std::string text;
  std::uint64_t seconds;
};

SinceRow since_of(store::Hour hour) {
  const std::uint64_t ns = static_cast<std::uint64_t>(hour) * store::kHourNs;
  return {query::rfc3339(ns), ns / 1'000'000'000};
}

Nullable uid_of(const std::optional<std::uint32_t>& uid) {
  return {uid ? std::int64_t{*uid} : 0, !uid};
}

// SQLite's integers have a sign.
std::int64_t at_most(std::uint64_t number) {
  return static_cast<std::int64_t>(std::min<std::uint64_t>(number, INT64_MAX));
}

// The shortest or the longest time, where any is known.
Nullable time_of(const store::RunSum& run, std::uint64_t elapsed_ns) {
  return {at_most(elapsed_ns), run.timed() == 0};
}

// As text: SQLite makes a number of it in a column of numbers, and NULL of nothing.
std::optional<std::string> detail_of(const store::CostSum& sum, store::Wide detail) {
  return sum.detailed() ? std::optional(fmt::format("{}", store::to_number(detail)))
                        : std::optional<std::string>();
}

std::optional<std::string> shape_of(const std::optional<std::uint64_t>& plan) {
  if (!plan) return std::nullopt;
  return *plan == 0 ? std::string() : fmt::format("{:016x}", *plan);
}

Status fill_history_costs(sqlite3* db, const store::Summary& sums, const std::string& fingerprint) {
  constexpr std::string_view kOwners[] = {"operator", "component", "unattributed"};
  SqlInsert table(db, "INSERT INTO history_costs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [key, sum] : sums.costs) {
    if (!fingerprint.empty() && key.fingerprint != fingerprint) continue;
    const SinceRow since = since_of(key.hour);
    table.row(since.text, since.seconds, sums.hours_of_row(key.hour), uid_of(key.uid), key.fingerprint,
              kOwners[static_cast<std::size_t>(key.what)], shape_of(key.plan), key.id, key.name, key.kind,
              key.source, query::term(key.unit).key, store::to_number(sum.samples),
              store::to_number(sum.weight), detail_of(sum, sum.squares), detail_of(sum, sum.kernel),
              detail_of(sum, sum.inferred));
  }
  return table.done();
}

Status fill_history_runs(sqlite3* db, const store::Summary& sums, const std::string& fingerprint) {
  SqlInsert table(db, "INSERT INTO history_runs VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [key, run] : sums.runs) {
    if (!fingerprint.empty() && key.fingerprint != fingerprint) continue;
    const SinceRow since = since_of(key.hour);
    table.row(since.text, since.seconds, sums.hours_of_row(key.hour), uid_of(key.uid), key.fingerprint,
              at_most(run.executions), at_most(run.failed), at_most(run.sampled()), at_most(run.elapsed_sum),
              time_of(run, run.elapsed_min), time_of(run, run.elapsed_max), at_most(run.rows_known),
              at_most(run.rows), at_most(run.untimed));
  }
  return table.done();
}

Status fill_history_losses(sqlite3* db, const store::Summary& sums) {
  SqlInsert table(db, "INSERT INTO history_losses VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [hour, loss] : sums.losses) {
    const SinceRow since = since_of(hour);
    table.row(since.text, since.seconds, sums.hours_of_row(hour), at_most(loss.lost_ring),
              at_most(loss.lost_hardware), at_most(loss.late), at_most(loss.unwritten));
  }
  return table.done();
}

Status fill_history_queries(sqlite3* db, const store::Summary& sums, const std::string& fingerprint) {
  SqlInsert table(db, "INSERT INTO history_queries VALUES (?, ?, ?, ?)");
  for (const auto& [key, names] : sums.queries) {
    if (fingerprint.empty() || key.fingerprint == fingerprint)
      table.row(uid_of(key.uid), key.fingerprint, names.name, names.text);
  }
  return table.done();
}

}  // namespace

std::string_view SqlHistory::schema() {
  return kHistorySchema;
}

bool SqlHistory::has(std::string_view table) {
  return std::ranges::find(kHistoryTables, table) != std::end(kHistoryTables);
}

Status SqlHistory::fill(sqlite3* db, const store::Summary& sums, const std::string& fingerprint) {
  Status done = fill_history_costs(db, sums, fingerprint);
  if (done.ok()) done = fill_history_runs(db, sums, fingerprint);
  if (done.ok()) done = fill_history_losses(db, sums);
  if (done.ok()) done = fill_history_queries(db, sums, fingerprint);
  return done;
}

}  // namespace tailor::cli
