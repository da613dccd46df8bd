// Which executions a catalogue knows.
#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_terms.h"
#include "daemon/store/leader_rows.h"
#include "daemon/store/meta_codec.h"
#include "daemon/store/sqlite_statement.h"

namespace tailor::store {
namespace {

// The reverse of process_entry_name().
void set_process_names(const std::string& name, ExecutionRow& row) {
  const std::size_t end = std::min(name.find('\n'), name.size());
  row.comm = name.substr(0, end);
  if (end < name.size()) row.engine = name.substr(end + 1);
}

// The reverse of Catalogue::rate_column().
void set_rate(const std::string& text, ExecutionRow& row) {
  const std::size_t blank = text.find(' ');
  if (blank == std::string::npos) return;
  (void)std::from_chars(text.data(), text.data() + blank, row.frequency);
  row.rate_why = text.substr(blank + 1);
}

}  // namespace

Result<bool> Catalogue::has(const char* type, const char* name) const {
  Statement statement(db_, "SELECT 1 FROM sqlite_master WHERE type=? AND name=?");
  statement << std::string_view(type) << std::string_view(name);
  return statement.next();
}

bool Catalogue::has_index(const char* name) const {
  const auto found = has("index", name);
  return found && *found;
}

// "997 trigger slow", of the first other rate of the process while the execution ran: the one that it began
// in, or else the next. Times of other rates of one process do not overlap, so two looks are enough however
// many there are. A catalogue of an older program does not know rates.
std::string Catalogue::rate_column() const {
  const auto known = has("table", "rate");
  if (!known || !*known) return "''";
  return "coalesce((SELECT CASE WHEN until>=e.begin THEN frequency||' '||why END FROM rate r WHERE "
         "r.recording=e.recording AND r.pid=e.pid AND r.start=e.start AND since<=e.begin ORDER BY since DESC "
         "LIMIT 1), (SELECT frequency||' '||why FROM rate r WHERE r.recording=e.recording AND r.pid=e.pid "
         "AND "
         "r.start=e.start AND since>e.begin AND since<=e.ended ORDER BY since LIMIT 1))";
}

Status Catalogue::visit_rows(const std::string& from, const std::string& argument,
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
      "n.start=e.start AND n.name<>'' ORDER BY segment DESC LIMIT 1), (SELECT name FROM entry n WHERE "
      "n.kind=4 AND n.recording=e.recording AND n.pid=e.pid AND n.start=e.start ORDER BY segment DESC LIMIT "
      "1), " +
      rate_column() + " FROM execution e " + from;
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
    row.cgroup = statement.text(7);
    set_rate(statement.text(8), row);
    if (!visit(std::move(row))) return Ok{};
  }
}

std::vector<profile::ExecutionRecord> Catalogue::records_of(RecordingNumber recording, const ExecutionId& id,
                                                            Status& problem) const {
  constexpr std::size_t kMost = 64;  // more declare an identity only to do harm
  Statement statement(db_, "SELECT record FROM execution WHERE id=?1 AND recording=?2 LIMIT ?3");
  const std::string text = id_text(id);
  statement << std::string_view(text) << recording << kMost;
  std::vector<profile::ExecutionRecord> records;
  for (;;) {
    const auto more = statement.next();
    if (!more) problem = more.error();
    if (!more || !*more) return records;
    v1::Execution message;
    if (!message.ParseFromString(statement.text(0))) continue;
    if (auto record = decode(message)) records.push_back(std::move(*record));
  }
}

Status Catalogue::visit_executions(const WallRange& range,
                                   const std::function<bool(ExecutionRow)>& visit) const {
  Status problem = Ok{};
  LeaderRows leaders(
      [&](RecordingNumber recording, const ExecutionId& id) { return records_of(recording, id, problem); });
  const std::uint64_t since = std::min<std::uint64_t>(range.since_ns, INT64_MAX);
  const std::uint64_t until = std::min<std::uint64_t>(range.until_ns, INT64_MAX);
  std::string from = "WHERE ?1='' ORDER BY recording DESC, begin DESC";
  if (since > 0 || until < INT64_MAX) {
    // By the wall clock: what is before and after the range is not even looked at. Numbers only: nothing here
    // comes from outside as text.
    from = fmt::format(
        "{} WHERE ?1='' AND wall_begin_ns>={} AND wall_begin_ns<{} ORDER BY wall_begin_ns DESC, "
        "recording DESC, begin DESC",
        has_index("execution_by_wall") ? "INDEXED BY execution_by_wall" : "", since, until);
  }
  bool more = true;
  const auto take = [&](ExecutionRow row) {
    const bool leads = leaders.take(row);
    if (!problem) return false;
    more = !leads || visit(std::move(row));
    return more;
  };
  Status read = visit_rows(from, "", take);
  if (read && problem && more && range.ran_since && since > 0)
    read = visit_rows(earlier_ones(since, until), "", take);
  return read ? problem : read;
}

Status Catalogue::visit_ended(const WallRange& range, std::size_t at_a_time,
                              const std::function<bool(const ExecutionRow&)>& visit) const {
  const std::string sql = fmt::format(
      "SELECT recording, wall_begin_ns, record, begin, (SELECT name FROM entry n WHERE n.kind=2 AND "
      "n.recording=e.recording AND n.pid=e.pid AND n.start=e.start AND n.id=e.plan ORDER BY segment DESC "
      "LIMIT 1) FROM execution e {} WHERE wall_begin_ns>=?1 AND (wall_begin_ns, recording, begin)<(?2, ?3, "
      "?4) AND ended<>?5 ORDER BY wall_begin_ns DESC, recording DESC, begin DESC LIMIT ?6",
      has_index("execution_by_wall") ? "INDEXED BY execution_by_wall" : "");
  const auto since = static_cast<std::int64_t>(std::min<std::uint64_t>(range.since_ns, INT64_MAX));
  auto until = static_cast<std::int64_t>(std::min<std::uint64_t>(range.until_ns, INT64_MAX));
  std::int64_t recording = INT64_MIN, began = INT64_MIN;  // of the last one; no row is before these
  for (std::size_t read = at_a_time; read == at_a_time;) {
    Statement statement(db_, sql.c_str());
    statement << since << until << recording << began << kTimeMax << std::uint64_t{at_a_time};
    for (read = 0;; ++read) {
      auto more = statement.next();
      if (!more) return more.error();
      if (!*more) break;
      recording = statement.integer(0);
      until = statement.integer(1);
      began = statement.integer(3);
      v1::Execution message;
      if (!message.ParseFromString(statement.text(2))) continue;
      auto record = decode(message);
      if (!record) continue;
      ExecutionRow row;
      row.recording = statement.number(0);
      row.record = std::move(*record);
      row.wall_begin_ns = statement.number(1);
      row.plan_name = statement.text(4);
      if (!visit(row)) return Ok{};
    }
  }
  return Ok{};
}

// Those that began before `since` and ran then or later. Which of many ended since then is found by their
// samples: those of the last data segments name them, and no index over ends is kept for it.
std::string Catalogue::earlier_ones(std::uint64_t since, std::uint64_t until) const {
  const std::string running = fmt::format("ended={}", kTimeMax);
  return fmt::format(
      "WHERE ?1='' AND wall_begin_ns<{0} AND wall_begin_ns<{1} AND (recording, pid, start, handle) IN ("
      "SELECT recording, pid, start, handle FROM execution {2} WHERE {3} "
      "UNION SELECT recording, pid, start, handle FROM cost WHERE data IN (SELECT number FROM segment WHERE "
      "kind=2 "
      "AND number>=(SELECT coalesce(max(number), 0) FROM segment WHERE kind=2 AND wall_ns<={0}))) "
      "AND ({3} OR wall_begin_ns+(ended-begin)>={0}) ORDER BY wall_begin_ns DESC, recording DESC, begin DESC",
      since, until, has_index("execution_running") ? "INDEXED BY execution_running" : "", running);
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
  // Not LIKE: the prefix comes from outside and may hold its wildcards. No digit comes after "f".
  const char* from = prefix.size() == kDigits
                         ? "WHERE id=?1 ORDER BY recording DESC, begin DESC"
                         : "INDEXED BY execution_by_id WHERE id>=?1 AND id<?1||'g' AND "
                           "substr(id,1,length(?1))=?1 ORDER BY recording DESC, begin DESC";
  Status read = visit_rows(from, prefix, [&](ExecutionRow row) {
    if (visible && !visible(row)) return true;
    const std::pair heard{row.recording, row.record.heard};
    const std::string id = id_text(row.record.id);
    const auto at = found.find(id);
    if (at == found.end()) {
      if (found.size() < 2) found.emplace(id, Found{std::move(row), heard});
    } else if (heard < at->second.heard) {
      at->second.heard = heard;
      if (at->second.newest.record.process != row.record.process) at->second.newest = std::move(row);
    }
    return true;
  });
  if (!read) return read.error();
  std::vector<ExecutionRow> rows;
  Status problem = Ok{};
  LeaderRows leaders(
      [&](RecordingNumber recording, const ExecutionId& id) { return records_of(recording, id, problem); });
  for (auto& [id, each] : found) {
    if (const auto leader = leaders.leader(each.newest)) {
      Status found_leader = visit_rows("WHERE id=?1", id_text(leader->id), [&](ExecutionRow row) {
        const bool same = row.recording == each.newest.recording && row.record.process == leader->process &&
                          row.record.handle == leader->handle;
        if (same) each.newest = std::move(row);
        return !same;
      });
      if (!found_leader) return found_leader.error();
    }
    if (!problem) return problem.error();
    rows.push_back(std::move(each.newest));
  }
  return rows;
}

Result<std::vector<ExecutionRow>> Catalogue::other_parts(const ExecutionRow& row) const {
  constexpr std::size_t kMost = 64;  // of more an engine says the identity again and again
  std::vector<ExecutionRow> parts;
  Status read = visit_rows("WHERE id=?1 ORDER BY recording", id_text(row.record.id), [&](ExecutionRow other) {
    const bool same = other.record.process == row.record.process && other.record.handle == row.record.handle;
    if (same && other.recording != row.recording) parts.push_back(std::move(other));
    return parts.size() < kMost;
  });
  if (!read) return read.error();
  return parts;
}

Result<std::vector<profile::ExecutionRecord>> Catalogue::ended_with_daemon(RecordingNumber recording) const {
  std::vector<profile::ExecutionRecord> records;
  const std::string from = fmt::format("{} WHERE ?1='' AND recording={} AND {}",
                                       has_index("execution_killed") ? "INDEXED BY execution_killed" : "",
                                       recording, killed_condition());
  Status read = visit_rows(from, "", [&](ExecutionRow row) {
    if (row.record.error == kDaemonEnded) records.push_back(std::move(row.record));
    return true;
  });
  if (!read) return read.error();
  return records;
}

Status Catalogue::executions_within(RecordingNumber recording, TimeNs from, TimeNs to,
                                    const std::function<void(const profile::ExecutionRecord&)>& visit) const {
  Statement statement(db_, "SELECT record FROM execution WHERE recording=? AND begin<=? AND ended>=?");
  statement << recording << to << from;
  for (;;) {
    auto more = statement.next();
    if (!more) return more.error();
    if (!*more) return Ok{};
    v1::Execution message;
    if (!message.ParseFromString(statement.text(0))) continue;
    if (const auto record = decode(message)) visit(*record);
  }
}

}  // namespace tailor::store
