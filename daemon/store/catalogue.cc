#include "daemon/store/catalogue.h"

#include <algorithm>
#include <cerrno>
#include <map>
#include <string>
#include <utility>

#include "daemon/store/leader_rows.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sqlite_statement.h"
#include "proto/base/errors.h"

namespace tailor::store {
namespace {

constexpr int kSchemaVersion = 1;
constexpr int kBusyTimeoutMs = 2000;

// `record` is a serialised tailor.v1.Execution; the columns beside it are what is searched and sorted by.
constexpr const char* kSchema = R"sql(
CREATE TABLE segment(number INTEGER PRIMARY KEY, kind INTEGER, recording INTEGER, first INTEGER, last INTEGER,
                     bytes INTEGER, samples INTEGER, wall_ns INTEGER, sealed INTEGER);
CREATE TABLE execution(recording INTEGER, pid INTEGER, start INTEGER, handle INTEGER, id TEXT, begin INTEGER,
                       ended INTEGER, wall_begin_ns INTEGER, plan INTEGER, record BLOB,
                       PRIMARY KEY(recording, pid, start, handle)) WITHOUT ROWID;
CREATE TABLE cost(data INTEGER, recording INTEGER, pid INTEGER, start INTEGER, handle INTEGER, samples INTEGER,
                  cpu_ns REAL, PRIMARY KEY(recording, pid, start, handle, data)) WITHOUT ROWID;
CREATE INDEX cost_by_data ON cost(data);
CREATE INDEX execution_by_time ON execution(recording, begin);
CREATE INDEX execution_by_id ON execution(id);
CREATE TABLE entry(recording INTEGER, pid INTEGER, start INTEGER, kind INTEGER, id INTEGER, segment INTEGER,
                   name TEXT, PRIMARY KEY(recording, pid, start, kind, id, segment)) WITHOUT ROWID;
CREATE TABLE use(data INTEGER, dictionary INTEGER, PRIMARY KEY(data, dictionary)) WITHOUT ROWID;
)sql";

Status execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return Ok{};
  return internal(fmt::format("catalogue: {}", sqlite3_errmsg(db)));
}

Result<int> schema_version(sqlite3* db) {
  Statement statement(db, "PRAGMA user_version");
  auto row = statement.next();
  if (!row) return row.error();
  return static_cast<int>(*row ? statement.integer(0) : 0);
}

Status prepare_schema(sqlite3* db, Catalogue::Mode mode) {
  auto version = schema_version(db);
  if (!version) return version.error();
  if (*version == kSchemaVersion) return Ok{};
  if (*version != 0 || mode == Catalogue::Mode::kRead) {
    return internal(
        fmt::format("the catalogue has schema version {}, this program uses {}", *version, kSchemaVersion));
  }
  if (auto ok = execute(db, "BEGIN"); !ok) return ok;
  if (auto ok = execute(db, kSchema); !ok) return ok;
  return execute(db, fmt::format("PRAGMA user_version={}; COMMIT", kSchemaVersion).c_str());
}

// No write-ahead log: users who may only read could not open it. No syncing: a catalogue that a power failure
// damaged is noticed here when it is opened the next time, and made again from the segments.
Status prepare_writing(sqlite3* db) {
  if (auto ok = execute(db, "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF"); !ok) return ok;
  Statement check(db, "PRAGMA quick_check(1)");
  auto row = check.next();
  if (!row) return row.error();
  if (!*row || check.text(0) != "ok") return internal("the catalogue is damaged");
  return Ok{};
}

std::string hex(const ExecutionId& id) {
  std::string out;
  for (std::uint8_t byte : id.bytes) out += fmt::format("{:02x}", byte);
  return out;
}

// The reverse of process_entry_name().
void set_process_names(const std::string& name, ExecutionRow& row) {
  const std::size_t end = std::min(name.find('\n'), name.size());
  row.comm = name.substr(0, end);
  if (end < name.size()) row.engine = name.substr(end + 1);
}

Result<std::vector<std::uint64_t>> numbers(Statement& statement) {
  std::vector<std::uint64_t> out;
  for (;;) {
    auto row = statement.next();
    if (!row) return row.error();
    if (!*row) return out;
    out.push_back(statement.number(0));
  }
}

}  // namespace

std::string process_entry_name(const profile::ProcessRecord& process) {
  std::string comm = to_utf8(process.comm);
  std::replace(comm.begin(), comm.end(), '\n', ' ');
  return process.engine_name.empty() ? comm : comm + "\n" + to_utf8(process.engine_name);
}

Catalogue::Catalogue(Catalogue&& other) noexcept : db_(std::exchange(other.db_, nullptr)) {}
Catalogue& Catalogue::operator=(Catalogue&& other) noexcept {
  std::swap(db_, other.db_);
  return *this;
}
Catalogue::~Catalogue() {
  sqlite3_close_v2(db_);
}

Result<Catalogue> Catalogue::open(const std::string& path, Mode mode) {
  if (mode == Mode::kWrite) return open(path, mode, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  auto catalogue = open(path, mode, SQLITE_OPEN_READONLY);
  if (catalogue || catalogue.error().code != EROFS) return catalogue;
  // A daemon was killed in the middle of a change, which SQLite takes back where it may write.
  catalogue = open(path, mode, SQLITE_OPEN_READWRITE);
  if (catalogue || catalogue.error().code != EROFS) return catalogue;
  return denied(fmt::format(
      "{} was left in the middle of a change by a tailord that was killed; start tailord again, or "
      "ask as the user whom the store belongs to",
      path));
}

Result<Catalogue> Catalogue::open(const std::string& path, Mode mode, int flags) {
  sqlite3* db = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  Catalogue catalogue(db);
  if (code != SQLITE_OK) {
    return internal(
        fmt::format("cannot open the catalogue {}: {}", path, db ? sqlite3_errmsg(db) : "out of memory"));
  }
  sqlite3_busy_timeout(db, kBusyTimeoutMs);
  if (mode == Mode::kWrite) {
    if (auto ok = prepare_writing(db); !ok) return in_context(path + ": ", ok.error());
  }
  if (auto ok = prepare_schema(db, mode); !ok) {
    const bool half_done = sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK;
    Error error = in_context(path + ": ", ok.error());
    if (half_done) error.code = EROFS;
    return error;
  }
  return catalogue;
}

Status Catalogue::begin() {
  return execute(db_, "BEGIN");
}
Status Catalogue::commit() {
  return execute(db_, "COMMIT");
}

void Catalogue::rollback() {
  // SQLite may have done it itself, where the disk is full.
  if (sqlite3_get_autocommit(db_) == 0) sqlite3_exec(db_, "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Catalogue::put_segment(const SegmentRow& row) {
  Statement statement(db_, "INSERT OR REPLACE INTO segment VALUES(?,?,?,?,?,?,?,?,?)");
  statement << row.number << static_cast<int>(row.kind) << row.recording << row.first << row.last << row.bytes
            << row.samples << row.wall_ns << static_cast<int>(row.sealed);
  return statement.run();
}

Status Catalogue::put_execution(RecordingNumber recording, const profile::ExecutionRecord& record,
                                std::uint64_t wall_begin_ns) {
  v1::Execution message;
  encode(record, message);
  const std::string bytes = message.SerializeAsString();
  const std::string id = hex(record.id);
  Statement statement(
      db_,
      "INSERT INTO execution(recording,pid,start,handle,id,begin,ended,wall_begin_ns,plan,record) "
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10) ON CONFLICT(recording,pid,start,handle) DO UPDATE "
      "SET id=?5, begin=?6, ended=?7, wall_begin_ns=?8, plan=?9, record=?10");
  statement << recording << record.process.pid << record.process.start << record.handle
            << std::string_view(id) << record.begin << record.end << wall_begin_ns << record.plan
            << std::string_view(bytes);
  return statement.run();
}

Status Catalogue::add_cost(std::uint64_t data, RecordingNumber recording, ProcessId process,
                           ExecutionHandle handle, const ExecutionCost& cost) {
  Statement statement(db_,
                      "INSERT INTO cost VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT DO UPDATE SET "
                      "samples=samples+?6, cpu_ns=cpu_ns+?7");
  statement << data << recording << process.pid << process.start << handle << cost.samples << cost.cpu_ns;
  return statement.run();
}

Status Catalogue::put_entry(RecordingNumber recording, const EntryKey& key, std::uint64_t segment,
                            const std::string& name) {
  Statement statement(db_,
                      "INSERT INTO entry VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT DO UPDATE SET "
                      "name=CASE ?7 WHEN '' THEN name ELSE ?7 END");
  statement << recording << key.process.pid << key.process.start << static_cast<int>(key.kind) << key.id
            << segment << std::string_view(name);
  return statement.run();
}

Status Catalogue::put_use(std::uint64_t data, std::uint64_t dictionary) {
  Statement statement(db_, "INSERT OR IGNORE INTO use VALUES(?,?)");
  statement << data << dictionary;
  return statement.run();
}

Status Catalogue::forget_contents(std::uint64_t number) {
  for (const char* sql : {"DELETE FROM use WHERE data=?1 OR dictionary=?1",
                          "DELETE FROM entry WHERE segment=?1", "DELETE FROM cost WHERE data=?1"}) {
    Statement statement(db_, sql);
    statement << number;
    if (auto ok = statement.run(); !ok) return ok;
  }
  return Ok{};
}

Status Catalogue::drop_segment(std::uint64_t number) {
  if (auto ok = forget_contents(number); !ok) return ok;
  Statement statement(db_, "DELETE FROM segment WHERE number=?");
  statement << number;
  if (auto ok = statement.run(); !ok) return ok;
  // An execution that ended before all data segments that are left has nothing to show.
  return execute(db_,
                 "DELETE FROM execution WHERE NOT EXISTS (SELECT 1 FROM segment s WHERE s.kind=2 AND "
                 "s.recording=execution.recording) OR ended < (SELECT min(first) FROM segment s WHERE "
                 "s.kind=2 AND s.recording=execution.recording)");
}

Result<std::vector<SegmentRow>> Catalogue::segments() const {
  Statement statement(db_,
                      "SELECT number,kind,recording,first,last,bytes,samples,wall_ns,sealed FROM segment "
                      "ORDER BY number");
  std::vector<SegmentRow> rows;
  for (;;) {
    auto more = statement.next();
    if (!more) return more.error();
    if (!*more) return rows;
    rows.push_back({statement.number(0), static_cast<FileKind>(statement.integer(1)), statement.number(2),
                    statement.integer(3), statement.integer(4), statement.number(5), statement.number(6),
                    statement.number(7), statement.integer(8) != 0});
  }
}

Status Catalogue::visit_rows(const std::string& where, const std::string& argument,
                             const std::function<bool(ExecutionRow)>& visit) const {
  const std::string sql =
      "SELECT recording, wall_begin_ns, record, "
      "(SELECT total(samples) FROM cost c WHERE c.recording=e.recording AND c.pid=e.pid AND c.start=e.start "
      "AND "
      "c.handle=e.handle), (SELECT total(cpu_ns) FROM cost c WHERE c.recording=e.recording AND c.pid=e.pid "
      "AND "
      "c.start=e.start AND c.handle=e.handle), (SELECT name FROM entry n WHERE n.kind=2 AND "
      "n.recording=e.recording AND n.pid=e.pid AND n.start=e.start AND n.id=e.plan ORDER BY segment DESC "
      "LIMIT 1), (SELECT name FROM entry n WHERE n.kind=1 AND n.recording=e.recording AND n.pid=e.pid AND "
      "n.start=e.start AND n.name<>'' ORDER BY segment DESC LIMIT 1) "
      "FROM execution e WHERE " +
      where + " ORDER BY recording DESC, begin DESC";
  Statement statement(db_, sql.c_str());
  statement << std::string_view(argument);
  for (;;) {
    auto more = statement.next();
    if (!more) return more.error();
    if (!*more) return Ok{};
    v1::Execution message;
    if (!message.ParseFromString(statement.text(2))) continue;
    auto record = decode(message);
    if (!record) continue;
    ExecutionRow row{statement.number(0),
                     std::move(*record),
                     statement.number(1),
                     statement.text(5),
                     {static_cast<std::uint64_t>(statement.real(3)), statement.real(4)},
                     {},
                     {}};
    set_process_names(statement.text(6), row);
    if (!visit(std::move(row))) return Ok{};
  }
}

std::vector<profile::ExecutionRecord> Catalogue::records_of(RecordingNumber recording,
                                                            const ExecutionId& id) const {
  constexpr std::size_t kMost = 64;  // more declare an identity only to do harm
  Statement statement(db_, "SELECT record FROM execution WHERE id=?1 AND recording=?2 LIMIT ?3");
  const std::string text = hex(id);
  statement << std::string_view(text) << recording << kMost;
  std::vector<profile::ExecutionRecord> records;
  for (auto more = statement.next(); more.ok() && *more; more = statement.next()) {
    v1::Execution message;
    if (!message.ParseFromString(statement.text(0))) continue;
    if (auto record = decode(message)) records.push_back(std::move(*record));
  }
  return records;
}

Status Catalogue::visit_executions(const WallRange& range,
                                   const std::function<bool(ExecutionRow)>& visit) const {
  LeaderRows leaders(
      [this](RecordingNumber recording, const ExecutionId& id) { return records_of(recording, id); });
  // Numbers only: nothing here comes from outside as text.
  const std::string where = fmt::format("?1='' AND wall_begin_ns>={} AND wall_begin_ns<{}",
                                        std::min<std::uint64_t>(range.since_ns, INT64_MAX),
                                        std::min<std::uint64_t>(range.until_ns, INT64_MAX));
  return visit_rows(where, "", [&](ExecutionRow row) { return !leaders.take(row) || visit(std::move(row)); });
}

Result<std::vector<ExecutionRow>> Catalogue::executions(std::size_t limit, const WallRange& range) const {
  std::vector<ExecutionRow> rows;
  if (limit == 0) return rows;
  Status read = visit_executions(range, [&](ExecutionRow row) {
    rows.push_back(std::move(row));
    return rows.size() < limit;
  });
  if (!read) return read.error();
  return rows;
}

Result<std::vector<ExecutionRow>> Catalogue::find_executions(
    const std::string& prefix, const std::function<bool(const ExecutionRow&)>& visible) const {
  constexpr std::size_t kDigits = 2 * sizeof(ExecutionId::bytes);
  struct Found {
    ExecutionRow newest;  // of the process that was heard of first
    std::pair<RecordingNumber, TimeNs> heard;
  };
  std::map<std::string, Found> found;
  // Not LIKE: the prefix comes from outside and may hold its wildcards.
  const char* where = prefix.size() == kDigits ? "id=?1" : "substr(id,1,length(?1))=?1";
  Status read = visit_rows(where, prefix, [&](ExecutionRow row) {
    if (visible && !visible(row)) return true;
    const std::pair heard{row.recording, row.record.heard};
    const auto at = found.find(hex(row.record.id));
    if (at == found.end()) {
      if (found.size() < 2) found.emplace(hex(row.record.id), Found{std::move(row), heard});
    } else if (heard < at->second.heard) {
      at->second.heard = heard;
      if (at->second.newest.record.process != row.record.process) at->second.newest = std::move(row);
    }
    return true;
  });
  if (!read) return read.error();
  std::vector<ExecutionRow> rows;
  LeaderRows leaders(
      [this](RecordingNumber recording, const ExecutionId& id) { return records_of(recording, id); });
  for (auto& [id, each] : found) {
    if (const auto leader = leaders.leader(each.newest)) {
      Status found_leader = visit_rows("id=?1", hex(leader->id), [&](ExecutionRow row) {
        const bool same = row.recording == each.newest.recording && row.record.process == leader->process &&
                          row.record.handle == leader->handle;
        if (same) each.newest = std::move(row);
        return !same;
      });
      if (!found_leader) return found_leader.error();
    }
    rows.push_back(std::move(each.newest));
  }
  return rows;
}

Status Catalogue::end_running() {
  struct Running {
    RecordingNumber recording;
    TimeNs last;
    std::string record;
  };
  std::vector<Running> running;
  {
    Statement statement(
        db_,
        "SELECT recording, (SELECT max(last) FROM segment s WHERE s.recording=e.recording AND s.kind=2 "
        "AND s.samples>0), record FROM execution e WHERE ended=?");
    statement << kTimeMax;
    for (;;) {
      auto more = statement.next();
      if (!more) return more.error();
      if (!*more) break;
      running.push_back({statement.number(0), statement.integer(1), statement.text(2)});
    }
  }
  for (const Running& each : running) {
    v1::Execution message;
    if (!message.ParseFromString(each.record)) continue;
    auto record = decode(message);
    if (!record) continue;
    record->end = std::max(each.last, record->begin);
    record->error = kDaemonEnded;
    if (auto ok = put_execution_end(each.recording, *record); !ok) return ok;
  }
  return Ok{};
}

// Not put_execution(): when it began by the wall clock is known already.
Status Catalogue::put_execution_end(RecordingNumber recording, const profile::ExecutionRecord& record) {
  v1::Execution message;
  encode(record, message);
  const std::string bytes = message.SerializeAsString();
  Statement statement(
      db_,
      "UPDATE execution SET ended=?1, record=?2 WHERE recording=?3 AND pid=?4 AND start=?5 AND handle=?6");
  statement << record.end << std::string_view(bytes) << recording << record.process.pid
            << record.process.start << record.handle;
  return statement.run();
}

Result<std::vector<profile::ExecutionRecord>> Catalogue::ended_with_daemon(RecordingNumber recording) const {
  std::vector<profile::ExecutionRecord> records;
  Status read = visit_rows("recording=CAST(?1 AS INTEGER)", std::to_string(recording), [&](ExecutionRow row) {
    if (row.record.error == kDaemonEnded) records.push_back(std::move(row.record));
    return true;
  });
  if (!read) return read.error();
  return records;
}

Result<std::vector<std::uint64_t>> Catalogue::segments_of(RecordingNumber recording,
                                                          const EntryKey& key) const {
  Statement statement(
      db_, "SELECT segment FROM entry WHERE recording=? AND pid=? AND start=? AND kind=? AND id=?");
  statement << recording << key.process.pid << key.process.start << static_cast<int>(key.kind) << key.id;
  return numbers(statement);
}

Result<std::vector<std::uint64_t>> Catalogue::used_dictionaries(std::uint64_t data) const {
  Statement statement(db_, "SELECT dictionary FROM use WHERE data=? ORDER BY dictionary");
  statement << data;
  return numbers(statement);
}

Result<std::vector<std::uint64_t>> Catalogue::unused_dictionaries() const {
  Statement statement(db_,
                      "SELECT number FROM segment WHERE kind=3 AND sealed=1 AND number NOT IN "
                      "(SELECT dictionary FROM use) ORDER BY number");
  return numbers(statement);
}

}  // namespace tailor::store
