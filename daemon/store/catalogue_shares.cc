#include "daemon/store/catalogue_shares.h"

#include <string>

#include "daemon/store/meta_codec.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

// What a row takes on disk beside its text, with its indexes; measured.
constexpr int kExecutionBytes = 240, kCostBytes = 90, kNameBytes = 50;

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

}  // namespace tailor::store
