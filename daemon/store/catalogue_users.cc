// What of the catalogue is whose, and what goes of it.
#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_shares.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

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
