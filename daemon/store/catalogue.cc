#include "daemon/store/catalogue.h"

#include <algorithm>
#include <cerrno>
#include <string>
#include <utility>

#include "daemon/store/catalogue_pages.h"
#include "daemon/store/catalogue_shares.h"
#include "daemon/store/catalogue_terms.h"
#include "daemon/store/checked_pages.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sqlite_statement.h"
#include "proto/base/errors.h"
#include "proto/base/hex.h"

namespace tailor::store {
namespace {

// Both have the same tables. The former has no checksums; upgrade_catalogue() gives it some.
constexpr int kOldestVersion = kUncheckedVersion, kSchemaVersion = kCheckedVersion;
// How long a reader waits for a writer, and a writer for readers. The writer's thread has more to do than to
// wait for one that reads for long.
constexpr int kReaderWaitsMs = 2000;
constexpr int kWriterWaitsMs = 10;

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

// And the table of rates. Made where a writer finds them missing: programs can use a catalogue without them,
// and older ones one with them.
std::string indexes() {
  return "CREATE INDEX IF NOT EXISTS execution_by_wall ON execution(wall_begin_ns, recording, begin);"
         "CREATE INDEX IF NOT EXISTS execution_running ON execution(recording) WHERE ended=" +
         std::to_string(kTimeMax) +
         ";CREATE INDEX IF NOT EXISTS execution_killed ON execution(recording) WHERE " + killed_condition() +
         ";CREATE TABLE IF NOT EXISTS rate(recording INTEGER, pid INTEGER, start INTEGER, since INTEGER, "
         "until INTEGER, frequency INTEGER, why TEXT, PRIMARY KEY(recording, pid, start, since)) WITHOUT "
         "ROWID";
}

// An error that names the file already stays as it is.
Error with_path(const std::string& path, const Error& error) {
  return error.message.find(path) == std::string::npos ? in_context(path + ": ", error) : error;
}

Result<int> schema_version(sqlite3* db) {
  Statement statement(db, "PRAGMA user_version");
  auto row = statement.next();
  if (!row) return row.error();
  return static_cast<int>(*row ? statement.integer(0) : 0);
}

Error other_version(int version) {
  Error other = internal(
      fmt::format("the catalogue has schema version {}, this program uses {}", version, kSchemaVersion));
  if (version <= kSchemaVersion) return other;
  other =
      invalid(fmt::format("{}: a newer tailord wrote this store; use that version, or name another "
                          "store (--store)",
                          other.message));
  other.code = ENOTSUP;
  return other;
}

Status refuse_newer(sqlite3* db) {
  auto version = schema_version(db);
  if (!version || *version <= kSchemaVersion) return Ok{};  // what is wrong with it is told later
  return other_version(*version);
}

Status prepare_schema(sqlite3* db, Catalogue::Mode mode) {
  auto version = schema_version(db);
  if (!version) return version.error();
  if (*version >= kOldestVersion && *version <= kSchemaVersion) {
    if (mode == Catalogue::Mode::kRead) return Ok{};
    // It is of use without them, on a full disk.
    (void)execute(db, indexes().c_str());
    Status made = make_shares(db);
    return made ? make_parts(db) : made;
  }
  if (*version != 0 || mode == Catalogue::Mode::kRead) return other_version(*version);
  if (auto ok = execute(db, "BEGIN"); !ok) return ok;
  if (auto ok = execute(db, kSchema); !ok) return ok;
  if (auto ok = execute(db, indexes().c_str()); !ok) return ok;
  if (auto ok = make_shares(db); !ok) return ok;
  if (auto ok = make_parts(db); !ok) return ok;
  return execute(db, fmt::format("PRAGMA user_version={}; COMMIT", kSchemaVersion).c_str());
}

// How pages come back, and that they have checksums, is decided before the first table is made.
Status prepare_empty(sqlite3* db) {
  bool empty = false;
  {
    Statement any(db, "SELECT 1 FROM sqlite_master");
    auto row = any.next();
    if (!row) return row.error();
    empty = !*row;
  }
  if (!empty) return Ok{};
  if (auto ok = prepare_for_checksums(db); !ok) return ok;
  // A program of before was killed before it made a table.
  return has_checksums(db) ? Status(Ok{}) : internal("the catalogue has no tables and no checksums");
}

// No write-ahead log: users who may only read could not open it. No syncing: a catalogue that a power failure
// damaged is noticed here when it is opened the next time, and made again from the segments.
Status prepare_writing(sqlite3* db) {
  if (auto ok = prepare_empty(db); !ok) return ok;
  if (auto ok = execute(db, "PRAGMA journal_mode=TRUNCATE; PRAGMA synchronous=OFF"); !ok) return ok;
  Statement check(db, "PRAGMA quick_check(1)");
  auto row = check.next();
  if (!row) return row.error();
  if (!*row || check.text(0) != "ok") return internal("the catalogue is damaged");
  return Ok{};
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

std::string id_text(const ExecutionId& id) {
  return hex_text(std::as_bytes(std::span(id.bytes)));
}

std::string killed_condition() {
  return fmt::format("instr(CAST(record AS BLOB), CAST('{}' AS BLOB)) > 0", kDaemonEnded);
}

std::string process_entry_name(const profile::ProcessRecord& process) {
  std::string comm = to_utf8(process.comm);
  std::replace(comm.begin(), comm.end(), '\n', ' ');
  return process.engine_name.empty() ? comm : comm + "\n" + to_utf8(process.engine_name);
}

Catalogue::Catalogue(Catalogue&& other) noexcept
    : db_(std::exchange(other.db_, nullptr)), kept_(std::exchange(other.kept_, {})) {}
Catalogue& Catalogue::operator=(Catalogue&& other) noexcept {
  std::swap(db_, other.db_);
  std::swap(kept_, other.kept_);
  return *this;
}
Catalogue::~Catalogue() {
  kept_.clear();
  sqlite3_close_v2(db_);
}

Statement& Catalogue::kept(const char* sql) {
  std::shared_ptr<Statement>& statement = kept_[sql];
  if (!statement || !statement->prepared()) statement = std::make_shared<Statement>(db_, sql);
  return *statement;
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
  const int code = sqlite3_open_v2(path.c_str(), &db, flags | SQLITE_OPEN_NOMUTEX, checked_pages());
  Catalogue catalogue(db);
  if (code != SQLITE_OK) {
    return internal(
        fmt::format("cannot open the catalogue {}: {}", path, db ? sqlite3_errmsg(db) : "out of memory"));
  }
  sqlite3_busy_timeout(db, kReaderWaitsMs);
  if (mode == Mode::kWrite) {
    // A newer one keeps its own ways, such as its journal mode.
    if (auto ok = refuse_newer(db); !ok) return with_path(path, ok.error());
    if (auto ok = prepare_writing(db); !ok) return with_path(path, ok.error());
  }
  if (auto ok = prepare_schema(db, mode); !ok) {
    const bool half_done = sqlite3_extended_errcode(db) == SQLITE_READONLY_ROLLBACK;
    Error error = with_path(path, ok.error());
    if (half_done) error.code = EROFS;
    return error;
  }
  return catalogue;
}

void Catalogue::wait_for_readers(bool for_long) {
  sqlite3_busy_timeout(db_, for_long ? kReaderWaitsMs : kWriterWaitsMs);
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
  const std::string id = id_text(record.id);
  Statement& statement = kept(
      "INSERT INTO execution(recording,pid,start,handle,id,begin,ended,wall_begin_ns,plan,record,uid) "
      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11) ON CONFLICT(recording,pid,start,handle) DO UPDATE "
      "SET id=?5, begin=?6, ended=?7, wall_begin_ns=?8, plan=?9, record=?10");
  statement << recording << record.process.pid << record.process.start << record.handle
            << std::string_view(id) << record.begin << record.end << wall_begin_ns << record.plan
            << std::string_view(bytes) << user_key(record.uid);
  return statement.run_and_reset();
}

Status Catalogue::add_cost(std::uint64_t data, RecordingNumber recording, ProcessId process,
                           ExecutionHandle handle, const ExecutionCost& cost) {
  Statement& statement = kept(
      "INSERT INTO cost SELECT ?1,?2,?3,?4,?5,?6,?7 WHERE EXISTS (SELECT 1 FROM execution WHERE "
      "recording=?2 AND pid=?3 AND start=?4 AND handle=?5) ON CONFLICT DO UPDATE SET "
      "samples=samples+?6, cpu_ns=cpu_ns+?7");
  statement << data << recording << process.pid << process.start << handle << cost.samples << cost.cpu_ns;
  return statement.run_and_reset();
}

Status Catalogue::put_entry(RecordingNumber recording, const EntryKey& key, std::uint64_t segment,
                            const std::string& name) {
  Statement& statement = kept(
      "INSERT INTO entry VALUES(?1,?2,?3,?4,?5,?6,?7) ON CONFLICT DO UPDATE SET "
      "name=CASE ?7 WHEN '' THEN name ELSE ?7 END");
  statement << recording << key.process.pid << key.process.start << static_cast<int>(key.kind) << key.id
            << segment << std::string_view(name);
  return statement.run_and_reset();
}

Status Catalogue::put_rate(RecordingNumber recording, const profile::RateSpan& span) {
  auto known = has("table", "rate");
  if (!known) return known.error();
  if (!*known) return Ok{};  // a full disk had no room for the table
  const std::string why = to_utf8(span.why);
  Statement statement(db_, "INSERT OR REPLACE INTO rate VALUES(?,?,?,?,?,?,?)");
  statement << recording << span.process.pid << span.process.start << span.from << span.to << span.frequency
            << std::string_view(why);
  return statement.run();
}

Status Catalogue::drop_old_rates(RecordingNumber recording) {
  auto known = has("table", "rate");
  if (!known) return known.error();
  if (!*known) return Ok{};
  Statement statement(db_,
                      "DELETE FROM rate WHERE recording=?1 AND since<=(SELECT since FROM rate WHERE "
                      "recording=?1 ORDER BY since DESC LIMIT 1 OFFSET ?2)");
  statement << recording << std::uint64_t{kMostRates};
  return statement.run();
}

Status Catalogue::put_use(std::uint64_t data, std::uint64_t dictionary) {
  Statement statement(db_, "INSERT OR IGNORE INTO use VALUES(?,?)");
  statement << data << dictionary;
  return statement.run();
}

Status Catalogue::put_use_since(RecordingNumber recording, TimeNs since, std::uint64_t dictionary) {
  Statement statement(db_,
                      "INSERT OR IGNORE INTO use SELECT number, ?1 FROM segment WHERE kind=2 AND "
                      "recording=?2 AND last>=?3");
  statement << dictionary << recording << since;
  return statement.run();
}

Status Catalogue::forget_contents(std::uint64_t number) {
  for (const char* sql :
       {"DELETE FROM use WHERE data=?1 OR dictionary=?1", "DELETE FROM entry WHERE segment=?1",
        "DELETE FROM cost WHERE data=?1", "DELETE FROM part WHERE segment=?1"}) {
    Statement statement(db_, sql);
    statement << number;
    if (auto ok = statement.run(); !ok) return ok;
  }
  return Ok{};
}

Status Catalogue::drop_segment(std::uint64_t number) {
  if (auto ok = forget_contents(number); !ok) return ok;
  Statement of(db_, "SELECT recording FROM segment WHERE number=?");
  of << number;
  auto known = of.next();
  if (!known) return known.error();
  if (!*known) return Ok{};
  const RecordingNumber recording = of.number(0);
  Statement statement(db_, "DELETE FROM segment WHERE number=?");
  statement << number;
  if (auto ok = statement.run(); !ok) return ok;
  return drop_executions_without_data(recording);
}

// An execution that ended before all data segments that are left has nothing to show.
Status Catalogue::drop_executions_without_data(RecordingNumber recording) {
  Statement left(db_, "SELECT count(*), min(first) FROM segment WHERE kind=2 AND recording=?");
  left << recording;
  auto row = left.next();
  if (!row) return row.error();
  const bool none = !*row || left.integer(0) == 0;
  // No time is known of the segments that are left: they hold executions alone, which go by age and size.
  if (!none && left.integer(1) == kTimeMax) return Ok{};
  // What ended before a time began before it: that is all there is to look at.
  Statement statement(db_, none ? "DELETE FROM execution WHERE recording=?1"
                                : "DELETE FROM execution WHERE recording=?1 AND begin<?2 AND ended<?2");
  statement << recording;
  if (!none) statement << left.integer(1);
  if (auto ok = statement.run(); !ok) return ok;
  auto known = has("table", "rate");
  if (!known) return known.error();
  if (!*known) return Ok{};
  Statement rates(
      db_, none ? "DELETE FROM rate WHERE recording=?1" : "DELETE FROM rate WHERE recording=?1 AND until<?2");
  rates << recording;
  if (!none) rates << left.integer(1);
  return rates.run();
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
    // When it began by the wall clock is known already.
    if (auto ok = change_execution(each.recording, *record); !ok) return ok.error();
  }
  return Ok{};
}

Result<bool> Catalogue::change_execution(RecordingNumber recording, const profile::ExecutionRecord& record) {
  v1::Execution message;
  encode(record, message);
  const std::string bytes = message.SerializeAsString();
  Statement statement(
      db_,
      "UPDATE execution SET ended=?1, record=?2 WHERE recording=?3 AND pid=?4 AND start=?5 AND handle=?6");
  statement << record.end << std::string_view(bytes) << recording << record.process.pid
            << record.process.start << record.handle;
  if (auto ok = statement.run(); !ok) return ok.error();
  return sqlite3_changes(db_) > 0;
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
