#include "viewer/cli/sql_tables.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_map>

#include "daemon/profile/added_runs.h"
#include "daemon/profile/cgroup.h"
#include "daemon/query/load/damage.h"
#include "daemon/query/reports/memory_report.h"
#include "daemon/query/reports/region_report.h"
#include "daemon/query/sums/keys.h"
#include "daemon/query/sums/memory_points.h"
#include "daemon/query/sums/sample_columns.h"
#include "daemon/query/sums/terms.h"
#include "proto/base/errors.h"
#include "viewer/cli/sql_functions.h"
#include "viewer/cli/sql_history.h"
#include "viewer/cli/sql_insert.h"

namespace tailor::cli {
namespace {

constexpr const char* kSchema =
    R"(CREATE TABLE executions (
  pid INTEGER, execution INTEGER,  -- its number in the process
  id TEXT,                         -- 32 hexadecimal digits
  plan INTEGER, plan_name TEXT,
  begin_ns INTEGER,                -- since the begin of what is shown
  elapsed_ns INTEGER,              -- NULL: it has not ended; of several runs with the time between them
  runs INTEGER,                    -- short runs that its engine added up in it, else 1; NULL: not known how many
  cgroup TEXT                      -- of its process; NULL: not known
);
CREATE TABLE processes (
  pid INTEGER, name TEXT, engine TEXT,
  cgroup TEXT,                     -- its path in the unified hierarchy; NULL: not known
  pod TEXT, container TEXT         -- uid and id, as the cgroup says them; NULL: it does not
);
CREATE TABLE damage (              -- a row if something of the profile could not be read
  finished INTEGER,                -- 0: its end is missing
  missing_samples INTEGER,         -- NULL: not known
  damaged_spots INTEGER, missing_blocks INTEGER, malformed_blocks INTEGER,
  text TEXT                        -- the same in words
);
CREATE TABLE plans (pid INTEGER, plan INTEGER, name TEXT);
CREATE TABLE components (          -- of all levels of the plans
  pid INTEGER, plan INTEGER,
  level INTEGER, level_name TEXT,  -- 0: the operators
  id INTEGER, name TEXT, kind TEXT
);
CREATE VIEW operators AS SELECT pid, plan, id, name, kind FROM components WHERE level = 0;
CREATE TABLE regions (             -- kinds of memory
  pid INTEGER, region INTEGER, name TEXT,
  role TEXT                        -- 'column', 'hash table' ...; NULL: the engine does not say it
);
CREATE TABLE memory_ranges (       -- where and when memory of a kind was, if samples hit it
  range INTEGER PRIMARY KEY, pid INTEGER, region INTEGER,
  tid INTEGER,                     -- the thread that told of it
  base INTEGER, size INTEGER,      -- bytes
  from_ns INTEGER,                 -- since the begin of what is shown
  to_ns INTEGER                    -- NULL: it was there to the end
);
CREATE TABLE cells (               -- what many samples have in common
  cell INTEGER PRIMARY KEY,
  pid INTEGER, execution INTEGER, plan INTEGER, pipeline INTEGER,
  source TEXT, unit TEXT,          -- weights of different units cannot be added
  owner TEXT,                      -- 'plan', 'component', 'unattributed'
  component TEXT,                  -- of the engine; else NULL
  reason TEXT,                     -- why it is unattributed; else NULL
  how TEXT, quality TEXT, kernel INTEGER,
  wait TEXT,                       -- why the thread was off the CPU; NULL: it was not
  wait_event TEXT,                 -- what its engine says that it waited for; else NULL
  region INTEGER,                  -- of the data address; 0: none known
  address_from TEXT,               -- 'sample', 'operand' (computed from registers); NULL: no address
  memory_level TEXT                -- that had the data: 'l1', 'l3', 'ram' ...; NULL: not known
);
CREATE TABLE owners (              -- who owns the samples of a cell, on each level of the plan
  cell INTEGER, level INTEGER, id INTEGER,
  part REAL                        -- of the cell; the parts of a level add up to 1
);
CREATE TABLE samples (
  time_ns INTEGER,                 -- since the begin of what is shown
  tid INTEGER, cell INTEGER,
  weight INTEGER,                  -- in the unit of the source
  address INTEGER,                 -- of data, 64 bits with a sign; NULL: not known
  range INTEGER,                   -- the memory range of the address; NULL: in none that an engine told of
  latency INTEGER,                 -- cycles of the access; NULL: not known
  stack INTEGER,                   -- its call chain
  function INTEGER,                -- that it was in
  code_address INTEGER             -- of its instruction: in a file the offset there; 64 bits with a sign
);
CREATE VIEW operator_samples AS    -- a row for each sample and each operator that has a part of it
  SELECT s.time_ns, s.tid, s.weight * o.part AS weight, s.address, s.range, s.latency, c.*, o.id AS operator, p.name, p.kind
  FROM samples s JOIN cells c USING (cell) JOIN owners o ON o.cell = c.cell AND o.level = 0
  JOIN operators p ON p.pid = c.pid AND p.plan = c.plan AND p.id = o.id;
)";
constexpr SqlFunctions::Code kNoCode{{0, true}, {0, true}, {0, true}};
constexpr const char* kIndexes =
    "CREATE INDEX of_cell ON owners (cell, level); CREATE INDEX by_id ON components (level, pid, plan, id);";

Status run(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return Ok{};
  return internal(fmt::format("SQLite: {}", sqlite3_errmsg(db)));
}

std::optional<std::string> known_text(const std::string& text) {
  return text.empty() ? std::optional<std::string>() : std::optional(text);
}

Status fill_processes(sqlite3* db, const query::Profile& profile) {
  SqlInsert table(db, "INSERT INTO processes VALUES (?, ?, ?, ?, ?, ?)");
  for (const auto& [id, process] : profile.processes()) {
    const profile::CgroupNames names = profile::names_in_cgroup(process.cgroup);
    table.row(id.pid, process.comm, process.engine_name, known_text(process.cgroup), known_text(names.pod),
              known_text(names.container));
  }
  return table.done();
}

std::optional<std::string> cgroup_of(const query::Profile& profile, ProcessId id) {
  const auto process = profile.processes().find(id);
  return known_text(process == profile.processes().end() ? "" : process->second.cgroup);
}

Nullable runs_in(const profile::ExecutionRecord& execution) {
  const std::uint64_t runs = std::min<std::uint64_t>(profile::runs_of(execution), INT64_MAX);
  const bool known = execution.added != nullptr || !profile::adds_up_runs(execution);
  return {static_cast<std::int64_t>(runs), !known};
}

Status fill_executions(sqlite3* db, const serve::View& view) {
  SqlInsert table(db, "INSERT INTO executions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const profile::ExecutionRecord& each : view.whole->executions()) {
    if (!query::selected(view.selection, each.process, each.handle)) continue;
    const query::PlanModel* plan = view.whole->plan(each.process, each.plan);
    // As text: SQLite makes an integer of it in a column of integers, and NULL of nothing.
    const std::optional<std::string> elapsed =
        each.end == kTimeMax ? std::optional<std::string>()
                             : std::optional(std::to_string(std::max<TimeNs>(0, each.end - each.begin)));
    table.row(each.process.pid, each.handle, query::hex(each.id), each.plan,
              plan == nullptr ? "" : plan->name(), each.begin - view.origin, elapsed, runs_in(each),
              cgroup_of(*view.whole, each.process));
  }
  return table.done();
}

Status fill_damage(sqlite3* db, const store::ReadReport& read, const store::SaidLoss& loss) {
  if (!query::is_damaged(read, loss)) return Ok{};
  SqlInsert table(db, "INSERT INTO damage VALUES (?, ?, ?, ?, ?, ?)");
  const Nullable missing{static_cast<std::int64_t>(read.missing_samples), !read.finished};
  table.row(read.finished, missing, read.damaged_spots, read.missing_blocks, read.malformed_blocks,
            query::damage_text(read, loss));
  return table.done();
}

Status fill_plans(sqlite3* db, const serve::View& view, const std::set<query::InProcess<PlanId>>& plans) {
  SqlInsert names(db, "INSERT INTO plans VALUES (?, ?, ?)");
  SqlInsert components(db, "INSERT INTO components VALUES (?, ?, ?, ?, ?, ?, ?)");
  for (const auto& [process, id] : plans) {
    const query::PlanModel* plan = view.whole->plan(process, id);
    if (plan == nullptr) continue;
    names.row(process.pid, id, plan->name());
    for (LevelIndex level = 0; level < plan->level_count(); ++level) {
      for (const v1::Component& each : plan->plan().levels(static_cast<int>(level)).components())
        components.row(process.pid, id, level, plan->level_name(level), each.id(),
                       plan->component_name(level, each.id()), each.kind());
    }
  }
  if (Status done = names.done(); !done.ok()) return done;
  return components.done();
}

std::optional<std::string> address_from(const query::CellKey& key) {
  if (key.address_from == profile::AddressFrom::kNone) return std::nullopt;
  return key.address_from == profile::AddressFrom::kOperand ? "operand" : "sample";
}

std::optional<std::string> role_of(const serve::View& view, const query::CellKey& key) {
  const auto kind = view.whole->region_kinds().find({key.process, key.region});
  const std::string_view role =
      kind == view.whole->region_kinds().end() ? "" : query::role_key(kind->second.role());
  return role.empty() ? std::nullopt : std::optional<std::string>(role);
}

Status fill_cells(sqlite3* db, const serve::View& view, const query::SampleColumns& columns) {
  SqlInsert cells(db, "INSERT INTO cells VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  SqlInsert owners(db, "INSERT INTO owners VALUES (?, ?, ?, ?)");
  SqlInsert regions(db, "INSERT INTO regions VALUES (?, ?, ?, ?)");
  std::set<query::InProcess<std::uint32_t>> told;
  for (std::size_t i = 0; i < columns.cells.size(); ++i) {
    const query::SampleCell& cell = columns.cells[i];
    const query::CellKey& key = *cell.key;
    const profile::Source source = view.whole->source(key.source);
    const bool component = cell.what == query::Cost::Class::kComponent;
    const bool unattributed = cell.what == query::Cost::Class::kUnattributed;
    using Text = std::optional<std::string>;
    cells.row(i, key.process.pid, key.execution, key.plan, key.pipeline, source.name,
              query::term(source.unit).key,
              component      ? "component"
              : unattributed ? "unattributed"
                             : "plan",
              component ? Text(view.whole->engine_component_name(key.process, key.engine_component)) : Text(),
              unattributed ? Text(query::term(key.reason).text) : Text(), query::term(key.how).key,
              query::term(key.quality).key, key.kernel ? 1 : 0,
              key.wait == profile::Wait::kNone ? Text() : Text(query::wait_key(key.wait)),
              key.engine_wait == 0 ? Text() : Text(view.whole->wait_event(key.engine_wait)), key.region,
              address_from(key),
              key.served_by == query::MemoryLevel::kUnknown ? Text() : Text(query::term(key.served_by).key));
    for (std::size_t level = 0; level < cell.levels.size(); ++level) {
      for (const query::Share& share : cell.levels[level].second) owners.row(i, level, share.id, share.part);
    }
    if (key.region != 0 && told.insert({key.process, key.region}).second)
      regions.row(key.process.pid, key.region, view.whole->region_name(key.process, key.region),
                  role_of(view, key));
  }
  for (const SqlInsert* table : {&cells, &owners, &regions}) {
    if (Status done = table->done(); !done.ok()) return done;
  }
  return Ok{};
}

// Which range each access was in.
class Ranges {
 public:
  Ranges(const serve::View& view, const query::SampleColumns& columns) {
    for (const std::uint16_t source : columns.sources) {
      const query::MemoryPoints points =
          query::memory_points(*view.whole, view.selection, source, query::kAllPoints, view.keep);
      std::vector<std::size_t> numbers;
      for (const query::RegionLife& life : points.regions) numbers.push_back(number_of(life));
      for (std::size_t i = 0; i < points.time.size(); ++i) {
        if (points.region[i] < 0) continue;
        const std::size_t range = numbers[static_cast<std::size_t>(points.region[i])];
        accesses_.push_back({points.time[i], points.tid[i], lives_[range].base + points.offset[i], range});
      }
    }
    std::ranges::sort(accesses_);
  }

  const std::vector<query::RegionLife>& lives() const { return lives_; }
  std::optional<std::size_t> find(const query::TimedSample& sample) const {
    const Access wanted{sample.time, sample.tid, sample.address, 0};
    const auto at = std::ranges::lower_bound(accesses_, wanted);
    const bool found = at != accesses_.end() && at->time == wanted.time && at->tid == wanted.tid &&
                       at->address == wanted.address;
    return found ? std::optional(at->range) : std::nullopt;
  }

 private:
  struct Access {
    TimeNs time;
    std::int32_t tid;
    std::uint64_t address;
    std::size_t range;
    auto operator<=>(const Access&) const = default;
  };

  // Each source tells of those that it hit.
  std::size_t number_of(const query::RegionLife& life) {
    const auto [at, fresh] =
        known_.try_emplace({life.process, life.kind, life.tid, life.base, life.from}, lives_.size());
    if (fresh) lives_.push_back(life);
    return at->second;
  }

  std::vector<query::RegionLife> lives_;
  std::map<std::tuple<ProcessId, std::uint32_t, std::int32_t, std::uint64_t, TimeNs>, std::size_t> known_;
  std::vector<Access> accesses_;
};

// `functions`: null where nobody asks for them.
Status fill_samples(sqlite3* db, const serve::View& view, const query::SampleColumns& columns,
                    SqlFunctions* functions) {
  const Ranges ranges(view, columns);
  SqlInsert range(db, "INSERT INTO memory_ranges VALUES (?, ?, ?, ?, ?, ?, ?, ?)");
  for (std::size_t i = 0; i < ranges.lives().size(); ++i) {
    const query::RegionLife& life = ranges.lives()[i];
    const std::int64_t to = life.to == kTimeMax ? 0 : life.to - view.origin;
    range.row(i, life.process.pid, life.kind, life.tid, life.base, life.size, life.from - view.origin,
              Nullable{to, life.to == kTimeMax});
  }
  if (Status done = range.done(); !done.ok()) return done;
  std::unordered_map<const query::CellKey*, std::size_t> cells;
  for (std::size_t i = 0; i < columns.cells.size(); ++i) cells.emplace(columns.cells[i].key, i);
  std::vector<const query::TimedSample*> chosen;
  for (const query::TimedSample& sample : view.whole->samples()) {
    if (cells.contains(sample.key) && (!view.keep || view.keep(sample))) chosen.push_back(&sample);
  }
  std::ranges::stable_sort(chosen, {}, &query::TimedSample::time);
  SqlInsert table(db, "INSERT INTO samples VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
  for (const query::TimedSample* each : chosen) {
    const query::TimedSample& sample = *each;
    const bool has_address = sample.key->address_from != profile::AddressFrom::kNone;
    const SqlFunctions::Code code = functions == nullptr ? kNoCode : functions->add(sample);
    table.row(sample.time - view.origin, sample.tid, cells.at(sample.key), sample.weight,
              has_address ? std::optional(sample.address) : std::nullopt,
              has_address ? ranges.find(sample) : std::nullopt,
              sample.latency == 0 ? std::nullopt : std::optional(sample.latency), code.stack, code.function,
              code.address);
  }
  return table.done();
}

// All but `damage`, which is of sums where these are read.
bool is_of_samples(std::string_view table) {
  constexpr std::string_view kTables[] = {"executions", "processes", "plans",           "components",
                                          "operators",  "regions",   "memory_ranges",   "cells",
                                          "owners",     "samples",   "operator_samples"};
  return std::ranges::find(kTables, table) != std::end(kTables);
}

// The tables are a copy in memory: a statement that writes would be a mistake, and one that names files a way
// out. `noted`, of SqlTables::Reads, notes what it reads.
int only_reads(void* noted, int action, const char* table, const char* column, const char*, const char*) {
  auto& reads = *static_cast<SqlTables::Reads*>(noted);
  switch (action) {
    case SQLITE_READ:
      if (SqlFunctions::has(table, column)) reads.functions = true;
      if (SqlHistory::has(table)) reads.history = true;
      if (reads.functions || is_of_samples(table)) reads.samples = true;
      return SQLITE_OK;
    case SQLITE_SELECT:
    case SQLITE_FUNCTION:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    default:
      return SQLITE_DENY;
  }
}

using Statement = std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)>;

// One statement that reads. `reads` as of only_reads(); it must outlive the statement.
Result<Statement> prepare(sqlite3* db, const std::string& sql, SqlTables::Reads& reads) {
  sqlite3_stmt* prepared = nullptr;
  const char* rest = nullptr;
  reads = {};
  sqlite3_set_authorizer(db, only_reads, &reads);
  const int code = sqlite3_prepare_v2(db, sql.c_str(), -1, &prepared, &rest);
  Statement statement(prepared, sqlite3_finalize);
  if (code == SQLITE_AUTH)
    return invalid("the statement does more than read: only SELECT is allowed, on the tables of --schema");
  if (code != SQLITE_OK) return invalid(fmt::format("SQL: {}", sqlite3_errmsg(db)));
  if (prepared == nullptr) return invalid("there is no SQL statement");
  if (rest != nullptr && std::string_view(rest).find_first_not_of(" \t\r\n;") != std::string_view::npos)
    return invalid("there is more than one SQL statement");
  return statement;
}

SqlTables::Value value_at(sqlite3_stmt* statement, int column) {
  using Kind = SqlTables::Value::Kind;
  SqlTables::Value out;
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL:
      break;
    case SQLITE_INTEGER:
      out.kind = Kind::kInteger;
      out.integer = sqlite3_column_int64(statement, column);
      break;
    case SQLITE_FLOAT:
      out.kind = Kind::kReal;
      out.real = sqlite3_column_double(statement, column);
      break;
    default:
      out.kind = Kind::kText;
      if (const void* bytes = sqlite3_column_blob(statement, column))
        out.text.assign(static_cast<const char*>(bytes),
                        static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
  }
  return out;
}

}  // namespace

void SqlTables::Close::operator()(sqlite3* db) const {
  sqlite3_close(db);
}

std::string SqlTables::schema() {
  return std::string(kSchema).append(SqlFunctions::schema()).append(SqlHistory::schema());
}

Result<SqlTables> SqlTables::open() {
  sqlite3* opened = nullptr;
  if (sqlite3_open(":memory:", &opened) != SQLITE_OK) {
    sqlite3_close(opened);
    return exhausted("SQLite: no memory for a database");
  }
  SqlTables tables{std::unique_ptr<sqlite3, Close>(opened)};
  if (Status done = run(opened, schema().c_str()); !done.ok()) return done.error();
  return tables;
}

Result<SqlTables::Reads> SqlTables::reads(const std::string& sql) {
  const auto empty = open();
  if (!empty) return empty.error();
  Reads noted;
  const auto statement = prepare(empty->db_.get(), sql, noted);
  if (!statement) return statement.error();
  return noted;
}

Result<SqlTables> SqlTables::make(const store::Summary& sums, const std::string& fingerprint,
                                  const query::StoreDamage& damage) {
  auto tables = open();
  if (!tables) return tables.error();
  sqlite3* db = tables->db_.get();
  Status done = run(db, "BEGIN");
  if (done.ok()) done = fill_damage(db, damage.read, damage.loss);
  if (done.ok()) done = SqlHistory::fill(db, sums, fingerprint);
  if (done.ok()) done = run(db, "COMMIT");
  if (!done.ok()) return done.error();
  return tables;
}

Result<SqlTables> SqlTables::make(const serve::View& view, bool with_functions) {
  const auto columns = query::sample_columns(*view.whole, view.selection, kMostSamples, view.keep);
  if (!columns) return columns.error();
  auto tables = open();
  if (!tables) return tables.error();
  sqlite3* db = tables->db_.get();
  std::set<query::InProcess<PlanId>> plans;
  for (const query::SampleCell& cell : columns->cells) plans.insert({cell.key->process, cell.key->plan});
  std::optional<SqlFunctions> functions;
  if (with_functions) functions.emplace(*view.whole);
  Status done = run(db, "BEGIN");
  if (done.ok()) done = fill_damage(db, view.whole->read_report(), view.whole->said_loss());
  if (done.ok()) done = fill_processes(db, *view.whole);
  if (done.ok()) done = fill_executions(db, view);
  if (done.ok()) done = fill_plans(db, view, plans);
  if (done.ok()) done = fill_cells(db, view, *columns);
  if (done.ok()) done = fill_samples(db, view, *columns, functions ? &*functions : nullptr);
  if (done.ok() && functions) done = functions->fill(db);
  if (done.ok()) done = run(db, "COMMIT");
  if (done.ok()) done = run(db, kIndexes);
  if (!done.ok()) return done.error();
  return tables;
}

Status SqlTables::query(const std::string& sql, const Rows& rows) const {
  Reads noted;
  const auto prepared = prepare(db_.get(), sql, noted);
  if (!prepared) return prepared.error();
  sqlite3_stmt* statement = prepared->get();
  const int count = sqlite3_column_count(statement);
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.emplace_back(sqlite3_column_name(statement, i));
  rows.columns(names);
  std::vector<Value> values(names.size());
  for (int step = sqlite3_step(statement); step != SQLITE_DONE; step = sqlite3_step(statement)) {
    if (step != SQLITE_ROW) return internal(fmt::format("SQL: {}", sqlite3_errmsg(db_.get())));
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(i)] = value_at(statement, i);
    rows.row(values);
  }
  return Ok{};
}

}  // namespace tailor::cli
