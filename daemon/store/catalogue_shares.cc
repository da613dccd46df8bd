#include "daemon/store/catalogue_shares.h"

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

// What a row takes on disk beside its text, with its indexes; measured.
constexpr int kExecutionBytes = 240, kCostBytes = 90, kNameBytes = 50;

// The order in which executions of a user go. The words are those of the index.
constexpr const char* kGoFirst = "sampled, ended=9223372036854775807, recording, begin";

// Rows that a program of before adds have the user -1.
constexpr const char* kUserColumns = R"sql(
ALTER TABLE execution ADD COLUMN uid INTEGER NOT NULL DEFAULT -1;
ALTER TABLE execution ADD COLUMN sampled INTEGER NOT NULL DEFAULT 0;
)sql";

// A process without an owner is of the user -1.
constexpr const char* kShareTables = R"sql(
CREATE TABLE share(uid INTEGER PRIMARY KEY, executions INTEGER, execution_bytes INTEGER, names INTEGER,
                   name_bytes INTEGER);
CREATE TABLE owner(recording INTEGER, pid INTEGER, start INTEGER, uid INTEGER,
                   PRIMARY KEY(recording, pid, start)) WITHOUT ROWID;
CREATE INDEX owner_by_user ON owner(uid, recording, start);
CREATE TABLE removed(uid INTEGER PRIMARY KEY, executions INTEGER, names INTEGER, first_ns INTEGER,
                     last_ns INTEGER);
)sql";

// The cost of an execution goes with it, and before it: it counts for the execution's user. Texts are
// measured as blobs, since there may be zeros in them.
constexpr const char* kTriggers = R"sql(
CREATE TRIGGER execution_put AFTER INSERT ON execution BEGIN
  INSERT OR IGNORE INTO share VALUES(NEW.uid, 0, 0, 0, 0);
  UPDATE share SET executions=executions+1,
    execution_bytes=execution_bytes+{execution}+length(CAST(NEW.record AS BLOB)) WHERE uid=NEW.uid;
END;
CREATE TRIGGER execution_changed AFTER UPDATE OF record ON execution BEGIN
  UPDATE share SET execution_bytes=max(0, execution_bytes+length(CAST(NEW.record AS BLOB))
    -length(CAST(OLD.record AS BLOB))) WHERE uid=NEW.uid;
END;
CREATE TRIGGER execution_gone BEFORE DELETE ON execution BEGIN
  DELETE FROM cost WHERE recording=OLD.recording AND pid=OLD.pid AND start=OLD.start AND handle=OLD.handle;
  UPDATE share SET executions=max(0, executions-1),
    execution_bytes=max(0, execution_bytes-{execution}-length(CAST(OLD.record AS BLOB))) WHERE uid=OLD.uid;
END;
CREATE TRIGGER cost_put AFTER INSERT ON cost BEGIN
  UPDATE execution SET sampled=1 WHERE sampled=0 AND recording=NEW.recording AND pid=NEW.pid AND
    start=NEW.start AND handle=NEW.handle;
  UPDATE share SET execution_bytes=execution_bytes+{cost} WHERE uid=(SELECT uid FROM execution WHERE
    recording=NEW.recording AND pid=NEW.pid AND start=NEW.start AND handle=NEW.handle);
END;
CREATE TRIGGER cost_gone AFTER DELETE ON cost BEGIN
  UPDATE share SET execution_bytes=max(0, execution_bytes-{cost}) WHERE uid=(SELECT uid FROM execution WHERE
    recording=OLD.recording AND pid=OLD.pid AND start=OLD.start AND handle=OLD.handle);
END;
CREATE TRIGGER name_put AFTER INSERT ON entry BEGIN
  INSERT OR IGNORE INTO share VALUES({owner_of_new}, 0, 0, 0, 0);
  UPDATE share SET names=names+1, name_bytes=name_bytes+{name}+length(CAST(NEW.name AS BLOB))
    WHERE uid={owner_of_new};
END;
CREATE TRIGGER name_changed AFTER UPDATE OF name ON entry BEGIN
  UPDATE share SET name_bytes=max(0, name_bytes+length(CAST(NEW.name AS BLOB))-length(CAST(OLD.name AS BLOB)))
    WHERE uid={owner_of_new};
END;
CREATE TRIGGER name_gone AFTER DELETE ON entry BEGIN
  UPDATE share SET names=max(0, names-1), name_bytes=max(0, name_bytes-{name}-length(CAST(OLD.name AS BLOB)))
    WHERE uid={owner_of_old};
END;
CREATE TRIGGER owner_put AFTER INSERT ON owner BEGIN
  INSERT OR IGNORE INTO share VALUES(NEW.uid, 0, 0, 0, 0);
  UPDATE share SET
    names=max(0, names+iif(uid=NEW.uid, 1, -1)*(SELECT count(*) FROM entry WHERE recording=NEW.recording AND
      pid=NEW.pid AND start=NEW.start)),
    name_bytes=max(0, name_bytes+iif(uid=NEW.uid, 1, -1)*(SELECT total({name}+length(CAST(name AS BLOB))) FROM entry
      WHERE recording=NEW.recording AND pid=NEW.pid AND start=NEW.start))
    WHERE uid IN (NEW.uid, -1);
END;
)sql";

// What there is without having been counted.
constexpr const char* kCounts = R"sql(
INSERT INTO share SELECT uid, count(*), sum({execution}+length(CAST(record AS BLOB))), 0, 0 FROM execution GROUP BY uid;
INSERT OR IGNORE INTO share SELECT DISTINCT {owner_of_entry}, 0, 0, 0, 0 FROM (SELECT DISTINCT recording, pid, start
  FROM entry) e;
UPDATE share SET names=n.names, name_bytes=n.bytes FROM (SELECT {owner_of_entry} AS uid, count(*) AS names,
  sum({name}+length(CAST(name AS BLOB))) AS bytes FROM entry e GROUP BY 1) n WHERE share.uid=n.uid;
UPDATE share SET execution_bytes=execution_bytes+c.bytes FROM (SELECT e.uid AS uid, {cost}*count(*) AS bytes
  FROM cost JOIN execution e USING(recording, pid, start, handle) GROUP BY 1) c WHERE share.uid=c.uid;
)sql";

std::string owner_of(const char* row) {
  return fmt::format(
      "coalesce((SELECT o.uid FROM owner o WHERE o.recording={0}.recording AND o.pid={0}.pid AND "
      "o.start={0}.start), -1)",
      row);
}

// With what the braces name.
std::string filled(const char* sql) {
  return fmt::format(fmt::runtime(sql), fmt::arg("execution", kExecutionBytes), fmt::arg("cost", kCostBytes),
                     fmt::arg("name", kNameBytes), fmt::arg("owner_of_new", owner_of("NEW")),
                     fmt::arg("owner_of_old", owner_of("OLD")), fmt::arg("owner_of_entry", owner_of("e")));
}

// SQL: the user that an execution's record names.
void user_of_record(sqlite3_context* context, int /*arguments*/, sqlite3_value** values) {
  const void* bytes = sqlite3_value_blob(values[0]);
  v1::Execution message;
  const bool good = bytes != nullptr && message.ParseFromArray(bytes, sqlite3_value_bytes(values[0]));
  sqlite3_result_int64(context, good && message.has_uid() ? std::int64_t{message.uid()} : -1);
}

constexpr const char* kUsersOfRecords = R"sql(
UPDATE execution SET uid=user_of_record(record), sampled=EXISTS(SELECT 1 FROM cost c WHERE
  c.recording=execution.recording AND c.pid=execution.pid AND c.start=execution.start AND c.handle=execution.handle);
INSERT INTO owner SELECT recording, pid, start, max(uid) FROM execution WHERE uid>=0 GROUP BY recording, pid, start;
)sql";

Result<bool> has_row(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  return statement.next();
}

// What a program of before wrote has no users, but its records say them.
Status add_users(sqlite3* db) {
  if (sqlite3_create_function(db, "user_of_record", 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, nullptr,
                              user_of_record, nullptr, nullptr) != SQLITE_OK)
    return catalogue_error(db);
  if (auto ok = execute(db, kUsersOfRecords); !ok) return ok;
  return execute(db, filled(kCounts).c_str());
}

Status make_all(sqlite3* db) {
  if (auto ok = execute(db, kUserColumns); !ok) return ok;
  if (auto ok = execute(db, kShareTables); !ok) return ok;
  auto some = has_row(db, "SELECT 1 FROM execution UNION ALL SELECT 1 FROM entry LIMIT 1");
  if (!some) return some.error();
  if (*some) {
    if (auto ok = add_users(db); !ok) return ok;
  }
  if (auto ok = execute(db, filled(kTriggers).c_str()); !ok) return ok;
  return execute(db, fmt::format("CREATE INDEX execution_by_share ON execution(uid, {})", kGoFirst).c_str());
}

Result<std::uint64_t> pragma_number(sqlite3* db, const char* sql) {
  Statement statement(db, sql);
  auto row = statement.next();
  if (!row) return row.error();
  return *row ? statement.number(0) : 0;
}

Result<std::uint64_t> rows_changed(sqlite3* db, Statement& statement) {
  if (auto ok = statement.run(); !ok) return ok.error();
  return static_cast<std::uint64_t>(sqlite3_changes64(db));
}

}  // namespace

Status execute(sqlite3* db, const char* sql) {
  if (sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return Ok{};
  return catalogue_error(db);
}

Status make_shares(sqlite3* db) {
  auto made_before = has_row(db, "SELECT 1 FROM sqlite_master WHERE name='execution_by_share'");
  if (!made_before) return made_before.error();
  if (*made_before) return Ok{};
  if (auto ok = execute(db, "SAVEPOINT shares"); !ok) return ok;
  Status made = make_all(db);
  if (made) made = execute(db, "RELEASE shares");
  if (!made) sqlite3_exec(db, "ROLLBACK TO shares; RELEASE shares", nullptr, nullptr, nullptr);
  return made;
}

Status Catalogue::put_owner(RecordingNumber recording, ProcessId process, std::uint32_t uid) {
  Statement& statement = kept("INSERT OR IGNORE INTO owner VALUES(?,?,?,?)");
  statement << recording << process.pid << process.start << user_key(uid);
  return statement.run_and_reset();
}

Result<std::optional<std::uint32_t>> Catalogue::owner(RecordingNumber recording, ProcessId process) const {
  Statement statement(db_, "SELECT uid FROM owner WHERE recording=? AND pid=? AND start=?");
  statement << recording << process.pid << process.start;
  auto row = statement.next();
  if (!row) return row.error();
  return *row ? user_of_key(statement.integer(0)) : std::nullopt;
}

Result<std::vector<UserUse>> Catalogue::uses() const {
  const auto known = has("table", "share");
  if (!known) return known.error();
  if (!*known) return std::vector<UserUse>();
  Statement statement(
      db_,
      "SELECT uid, executions, execution_bytes, names, name_bytes FROM share WHERE executions>0 OR "
      "names>0 ORDER BY execution_bytes+name_bytes DESC, uid");
  return statement.all([](const Statement& row) {
    return UserUse{user_of_key(row.integer(0)), row.number(1), row.number(2), row.number(3), row.number(4)};
  });
}

Result<Catalogue::Size> Catalogue::size() const {
  const auto page = pragma_number(db_, "PRAGMA page_size");
  if (!page) return page.error();
  const auto pages = pragma_number(db_, "PRAGMA page_count");
  if (!pages) return pages.error();
  const auto free = pragma_number(db_, "PRAGMA freelist_count");
  if (!free) return free.error();
  return Size{*pages * *page, (*pages - std::min(*pages, *free)) * *page};
}

Result<std::uint64_t> Catalogue::remove_executions(std::optional<std::uint32_t> uid, std::uint64_t most) {
  const std::string sql = fmt::format(
      "DELETE FROM execution WHERE (recording, pid, start, handle) IN (SELECT recording, pid, start, handle "
      "FROM "
      "execution INDEXED BY execution_by_share WHERE uid=?1 ORDER BY {} LIMIT ?2)",
      kGoFirst);
  Statement statement(db_, sql.c_str());
  statement << user_key(uid) << most;
  return rows_changed(db_, statement);
}

namespace {

struct Owned {
  RecordingNumber recording = 0;
  std::int64_t pid = 0;
  TimeNs start = 0;
};

// Processes of a user with names; those of nobody are found by their names.
Result<std::vector<Owned>> processes_with_names(sqlite3* db, std::int64_t user) {
  constexpr int kSome = 64;
  Statement statement(
      db, user >= 0
              ? "SELECT recording, pid, start FROM owner WHERE uid=?1 ORDER BY recording, start LIMIT ?2"
              : "SELECT DISTINCT recording, pid, start FROM entry e WHERE ?1<0 AND NOT EXISTS (SELECT 1 FROM "
                "owner o WHERE o.recording=e.recording AND o.pid=e.pid AND o.start=e.start) LIMIT ?2");
  statement << user << kSome;
  return statement.all(
      [](const Statement& row) { return Owned{row.number(0), row.integer(1), row.integer(2)}; });
}

Result<std::uint64_t> remove_names_of(sqlite3* db, const Owned& process, std::uint64_t most) {
  // Those of the process itself are the last to go: executions are listed with its name and its cgroup.
  Statement statement(
      db,
      "DELETE FROM entry WHERE recording=?1 AND pid=?2 AND start=?3 AND (kind, id, segment) IN ("
      "SELECT kind, id, segment FROM entry WHERE recording=?1 AND pid=?2 AND start=?3 "
      "ORDER BY kind=1 OR kind=4, kind, id, segment LIMIT ?4)");
  statement << process.recording << process.pid << process.start << most;
  auto removed = rows_changed(db, statement);
  if (!removed || *removed == most) return removed;
  Statement nothing_left(db, "DELETE FROM owner WHERE recording=?1 AND pid=?2 AND start=?3");
  nothing_left << process.recording << process.pid << process.start;
  if (auto ok = nothing_left.run(); !ok) return ok.error();
  return removed;
}

}  // namespace

Result<std::uint64_t> Catalogue::remove_names(std::optional<std::uint32_t> uid, std::uint64_t most) {
  // Processes without names are passed over, and forgotten.
  for (;;) {
    auto processes = processes_with_names(db_, user_key(uid));
    if (!processes) return processes.error();
    std::uint64_t sum = 0;
    for (const Owned& process : *processes) {
      if (sum == most) break;
      auto removed = remove_names_of(db_, process, most - sum);
      if (!removed) return removed;
      sum += *removed;
    }
    if (sum > 0 || processes->empty()) return sum;
  }
}

Result<std::uint64_t> Catalogue::drop_old_executions(RecordingNumber recording, TimeNs before,
                                                     std::uint64_t before_wall_ns, std::uint64_t most) {
  // What ended before a time began before it: that is all there is to look at.
  Statement own(
      db_,
      "DELETE FROM execution WHERE (recording, pid, start, handle) IN (SELECT recording, pid, start, handle "
      "FROM execution WHERE recording=?1 AND begin<?2 AND ended<?2 AND sampled=0 LIMIT ?3)");
  own << recording << before << most;
  auto dropped = rows_changed(db_, own);
  if (!dropped || *dropped == most) return dropped;
  Statement others(
      db_,
      "DELETE FROM execution WHERE (recording, pid, start, handle) IN (SELECT recording, pid, start, "
      "handle FROM execution WHERE wall_begin_ns>0 AND wall_begin_ns<?2 AND recording<>?1 AND "
      "ended<>?4 AND wall_begin_ns+(ended-begin)<?2 AND sampled=0 LIMIT ?3)");
  others << recording << before_wall_ns << most - *dropped << kTimeMax;
  auto more = rows_changed(db_, others);
  if (!more) return more;
  return *dropped + *more;
}

Status Catalogue::note_removed(const RemovedOfUser& more) {
  Statement statement(db_,
                      "INSERT INTO removed VALUES(?1,?2,?3,?4,?5) ON CONFLICT DO UPDATE SET "
                      "executions=executions+?2, names=names+?3, last_ns=?5");
  statement << user_key(more.uid) << more.executions << more.names << more.first_ns << more.last_ns;
  return statement.run();
}

Result<std::vector<RemovedOfUser>> Catalogue::removed() const {
  const auto known = has("table", "removed");
  if (!known) return known.error();
  if (!*known) return std::vector<RemovedOfUser>();
  Statement statement(db_,
                      "SELECT uid, executions, names, first_ns, last_ns FROM removed ORDER BY executions "
                      "DESC, names DESC, uid");
  return statement.all([](const Statement& row) {
    return RemovedOfUser{user_of_key(row.integer(0)), row.number(1), row.number(2), row.number(3),
                         row.number(4)};
  });
}

Status Catalogue::forget_removed(std::uint64_t before_wall_ns) {
  Statement old(db_, "DELETE FROM removed WHERE last_ns<?");
  old << before_wall_ns;
  if (auto ok = old.run(); !ok) return ok;
  Statement old_cuts(db_, "DELETE FROM cut WHERE last_ns<?");
  old_cuts << before_wall_ns;
  if (auto ok = old_cuts.run(); !ok) return ok;
  return execute(
      db_,
      "DELETE FROM part WHERE segment NOT IN (SELECT number FROM segment); "
      "DELETE FROM owner WHERE NOT EXISTS (SELECT 1 FROM entry e WHERE e.recording=owner.recording AND "
      "e.pid=owner.pid AND e.start=owner.start); DELETE FROM share WHERE executions=0 AND names=0");
}

Status Catalogue::give_back(std::uint64_t bytes, bool for_long) {
  const auto can = pragma_number(db_, "PRAGMA auto_vacuum");
  if (!can) return can.error();
  if (*can == 0) return for_long ? execute(db_, "PRAGMA auto_vacuum=INCREMENTAL; VACUUM") : Status(Ok{});
  const auto page = pragma_number(db_, "PRAGMA page_size");
  if (!page) return page.error();
  return execute(
      db_, fmt::format("PRAGMA incremental_vacuum({})", bytes / std::max<std::uint64_t>(*page, 1)).c_str());
}

}  // namespace tailor::store
