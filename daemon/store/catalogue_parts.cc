// How much of each segment is whose. Each row is of a process, so that it is known who is to go where a user
// has too much.
#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_shares.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

// A process without an owner is of the user -1.
constexpr const char* kPartTables = R"sql(
CREATE TABLE IF NOT EXISTS part(segment INTEGER, pid INTEGER, start INTEGER, uid INTEGER, bytes INTEGER,
                                PRIMARY KEY(pid, start, segment)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS part_by_segment ON part(segment, uid);
CREATE TABLE IF NOT EXISTS cut(uid INTEGER PRIMARY KEY, bytes INTEGER, samples INTEGER, first_ns INTEGER,
                               last_ns INTEGER);
)sql";

// The names of the process itself stay in the segment: its own (kind 1), its cgroup (kind 4) and its parent
// (kind 5). An execution is without samples once its costs have gone.
Status cut_process(sqlite3* db, const SegmentRow& row, ProcessId process) {
  Statement part(db, "DELETE FROM part WHERE segment=? AND pid=? AND start=?");
  part << row.number << process.pid << process.start;
  if (auto ok = part.run(); !ok) return ok;
  Statement entry(
      db,
      "DELETE FROM entry WHERE segment=? AND recording=? AND pid=? AND start=? AND kind NOT IN (1, 4, 5)");
  entry << row.number << row.recording << process.pid << process.start;
  if (auto ok = entry.run(); !ok) return ok;
  Statement cost(db, "DELETE FROM cost WHERE data=? AND recording=? AND pid=? AND start=?");
  cost << row.number << row.recording << process.pid << process.start;
  if (auto ok = cost.run(); !ok) return ok;
  Statement execution(
      db,
      "DELETE FROM execution WHERE recording=? AND pid=? AND start=? AND ended<=? AND NOT EXISTS (SELECT 1 "
      "FROM cost c WHERE c.recording=execution.recording AND c.pid=execution.pid AND "
      "c.start=execution.start AND c.handle=execution.handle)");
  execution << row.recording << process.pid << process.start << row.last;
  return execution.run();
}

}  // namespace

Status make_parts(sqlite3* db) {
  return execute(db, kPartTables);
}

// The catalogue's budget may have forgotten the owner of a process that has parts still.
Status Catalogue::add_part(RecordingNumber recording, std::uint64_t segment, ProcessId process,
                           std::uint64_t bytes) {
  Statement& statement = kept(
      "INSERT INTO part VALUES(?2,?3,?4,coalesce((SELECT o.uid FROM owner o WHERE o.recording=?1 AND "
      "o.pid=?3 AND o.start=?4),(SELECT max(p.uid) FROM part p WHERE p.pid=?3 AND p.start=?4 AND "
      "p.segment>=?1),-1),?5) ON CONFLICT(pid, start, segment) DO UPDATE SET bytes=bytes+excluded.bytes, "
      "uid=max(uid, excluded.uid)");
  statement << recording << segment << process.pid << process.start << bytes;
  return statement.run_and_reset();
}

Result<std::vector<SegmentPart>> Catalogue::parts() const {
  Statement statement(db_,
                      "SELECT p.segment, p.uid, sum(p.bytes) FROM part p JOIN segment s ON "
                      "s.number=p.segment WHERE s.bytes>0 GROUP BY p.segment, p.uid ORDER BY p.segment, "
                      "p.uid");
  return statement.all([](const Statement& row) {
    return SegmentPart{row.number(0), user_of_key(row.integer(1)), row.number(2)};
  });
}

Result<std::vector<DiskUse>> Catalogue::disk_uses() const {
  const auto known = has("table", "part");
  if (!known) return known.error();
  if (!*known) return std::vector<DiskUse>();
  Statement statement(db_,
                      "SELECT p.uid, sum(p.bytes) FROM part p JOIN segment s ON s.number=p.segment WHERE "
                      "s.bytes>0 GROUP BY p.uid ORDER BY 2 DESC, 1");
  return statement.all(
      [](const Statement& row) { return DiskUse{user_of_key(row.integer(0)), row.number(1)}; });
}

Result<std::set<ProcessId>> Catalogue::processes_in(std::uint64_t segment, std::uint32_t uid) const {
  Statement statement(db_, "SELECT pid, start FROM part WHERE segment=? AND uid=?");
  statement << segment << user_key(uid);
  const auto all = statement.all([](const Statement& row) {
    return ProcessId{static_cast<std::int32_t>(row.integer(0)), row.number(1)};
  });
  if (!all) return all.error();
  return std::set<ProcessId>(all->begin(), all->end());
}

Status Catalogue::put_cut(const SegmentRow& row, const std::set<ProcessId>& processes) {
  if (auto ok = put_segment(row); !ok) return ok;
  for (const ProcessId process : processes) {
    if (auto ok = cut_process(db_, row, process); !ok) return ok;
  }
  return Ok{};
}

Status Catalogue::note_cut(const CutOfUser& more) {
  Statement statement(db_,
                      "INSERT INTO cut VALUES(?1,?2,?3,?4,?5) ON CONFLICT(uid) DO UPDATE SET bytes=bytes+?2, "
                      "samples=samples+?3, last_ns=?5");
  statement << user_key(more.uid) << more.bytes << more.samples << more.first_ns << more.last_ns;
  return statement.run();
}

Result<std::vector<CutOfUser>> Catalogue::cuts() const {
  const auto known = has("table", "cut");
  if (!known) return known.error();
  if (!*known) return std::vector<CutOfUser>();
  Statement statement(db_, "SELECT uid, bytes, samples, first_ns, last_ns FROM cut ORDER BY bytes DESC, uid");
  return statement.all([](const Statement& row) {
    return CutOfUser{user_of_key(row.integer(0)), row.number(1), row.number(2), row.number(3), row.number(4)};
  });
}

}  // namespace tailor::store
