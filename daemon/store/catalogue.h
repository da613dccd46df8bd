// The catalogue of a store: an SQLite file that says which executions there are and in which segments to
// look. It is derived from the segments and can be made again from them (catalogue_segments()).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/store/block.h"
#include "proto/base/result.h"

struct sqlite3;

namespace tailor::store {

class Statement;

// One run of a daemon. Times of different recordings are compared through query/load/recording_chain.h alone:
// the clock starts anew with the host. Its number is that of its first segment.
using RecordingNumber = std::uint64_t;

struct SegmentRow {
  std::uint64_t number = 0;
  FileKind kind = FileKind::kDataSegment;
  RecordingNumber recording = 0;
  TimeNs first = kTimeMax, last = kTimeMin;  // of its samples and activity
  std::uint64_t bytes = 0, samples = 0;
  std::uint64_t wall_ns = 0;  // CLOCK_REALTIME of its creation
  bool sealed = false;        // finished
  // Its file was deleted before it was summed up (StoreWriter::give_up_some): others have a header at
  // least.
  bool given_up() const { return sealed && bytes == 0; }
};

// Samples of sources that measure time on CPU.
struct ExecutionCost {
  std::uint64_t samples = 0;
  double cpu_ns = 0;
};

struct ExecutionRow {
  RecordingNumber recording = 0;
  profile::ExecutionRecord record;
  std::uint64_t wall_begin_ns = 0;  // 0 unknown
  std::string plan_name;
  ExecutionCost cost;
  std::string comm, engine;  // of its process; both empty: not known
  std::string cgroup = {};   // of its process; empty: not known
  // While it ran, for some of the time at least, its process was sampled so often, and why; 0: as configured.
  std::uint64_t frequency = 0;
  std::string rate_why = {};
};

// The error of executions whose recorder was killed.
inline constexpr const char* kDaemonEnded = "daemon ended";

// Those of a process's cgroup have its path as their name, and those of its parent the two numbers of that.
// Programs of before write neither, and look for neither.
enum class EntryKind : int { kProcess = 1, kPlan = 2, kCode = 3, kCgroup = 4, kParent = 5 };

struct EntryKey {
  ProcessId process;
  EntryKind kind = EntryKind::kProcess;
  std::uint64_t id = 0;  // of the plan or code object
  auto operator<=>(const EntryKey&) const = default;
};

// What an entry of a process is named in the catalogue: both of its names.
std::string process_entry_name(const profile::ProcessRecord& process);
// What an entry of a process's parent is named.
std::string parent_entry_name(ProcessId parent);

// What the catalogue holds of the executions and the names of one user's processes. The bytes are an
// estimate, which is about what they take on disk.
struct UserUse {
  std::optional<std::uint32_t> uid;  // nothing: not known
  std::uint64_t executions = 0, execution_bytes = 0;
  std::uint64_t names = 0, name_bytes = 0;
  std::uint64_t bytes() const { return execution_bytes + name_bytes; }
};

// What went because the catalogue was too large (catalogue_budget.h). CLOCK_REALTIME.
struct RemovedOfUser {
  std::optional<std::uint32_t> uid;  // nothing: not known
  std::uint64_t executions = 0, names = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  // when
};

// What the processes of one user have of a segment, or of all segments, in bytes.
struct SegmentPart {
  std::uint64_t segment = 0;
  std::optional<std::uint32_t> uid;  // nothing: not known
  std::uint64_t bytes = 0;
};
struct DiskUse {
  std::optional<std::uint32_t> uid;  // nothing: not known
  std::uint64_t bytes = 0;
};

// What went from segments because the user had more than a share of the disk (disk_shares.h). CLOCK_REALTIME.
struct CutOfUser {
  std::optional<std::uint32_t> uid;
  std::uint64_t bytes = 0, samples = 0;
  std::uint64_t first_ns = 0, last_ns = 0;  // when
};

// Which executions, by when they began: CLOCK_REALTIME in [since, until).
struct WallRange {
  std::uint64_t since_ns = 0, until_ns = INT64_MAX;
  // Those too that began before `since_ns` and run still, and those of them that ended since then and have
  // samples of that time.
  bool ran_since = false;
};

// One thread. Errors carry SQLite's message. Several processes may have it open; one writes.
class Catalogue {
 public:
  enum class Mode { kWrite, kRead };
  // kWrite creates it where it is missing. Fails on another schema version too; then it is to be rebuilt,
  // unless a newer program made it: ENOTSUP. kRead changes nothing, but for a change that a writer who was
  // killed left half done.
  // The pages of the file have checksums (checked_pages.h), but in one of an earlier version, which is read
  // and written without.
  static Result<Catalogue> open(const std::string& path, Mode mode);
  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  // A change that another program's reading keeps from being made fails with EBUSY after two seconds; with
  // false here at once, for threads that have more to do.
  void wait_for_readers(bool for_long);

  // The changes between these are there after a crash as a whole or not at all.
  Status begin();
  Status commit();
  // As if begin() had not been called. Does nothing outside of a transaction.
  void rollback();

  Status put_segment(const SegmentRow& row);
  Status put_execution(RecordingNumber recording, const profile::ExecutionRecord& record,
                       std::uint64_t wall_begin_ns);
  // The same of an execution that is there; false: it is not. When it began by the wall clock stays.
  Result<bool> change_execution(RecordingNumber recording, const profile::ExecutionRecord& record);
  // Adds to what data segment `data` holds of the execution. Of one that was removed it is not kept.
  Status add_cost(std::uint64_t data, RecordingNumber recording, ProcessId process, ExecutionHandle handle,
                  const ExecutionCost& cost);
  // `segment`, a dictionary segment, holds what `key` names; for a plan, its name; for a process,
  // process_entry_name(). Without a name, the one that is there stays.
  Status put_entry(RecordingNumber recording, const EntryKey& key, std::uint64_t segment,
                   const std::string& name);
  // The process belongs to the user: the names of its entries count for that user. Say it before
  // put_entry(); what was said first counts.
  Status put_owner(RecordingNumber recording, ProcessId process, std::uint32_t uid);
  // Nothing: not known.
  Result<std::optional<std::uint32_t>> owner(RecordingNumber recording, ProcessId process) const;
  // A process was sampled at another rate. An earlier span with the same begin is replaced.
  Status put_rate(RecordingNumber recording, const profile::RateSpan& span);
  // Removes those that began first, where there are more than kMostRates: a user may ask for other rates
  // again and again.
  static constexpr std::size_t kMostRates = 10'000;
  Status drop_old_rates(RecordingNumber recording);
  // Samples or activity of data segment `data` name what lies in dictionary segment `dictionary`.
  Status put_use(std::uint64_t data, std::uint64_t dictionary);
  // The same of all data segments of the recording that may hold samples of `since` or later.
  Status put_use_since(RecordingNumber recording, TimeNs since, std::uint64_t dictionary);
  // Forgets what was said of the segment's contents, not the segment: they are about to be said again.
  Status forget_contents(std::uint64_t number);
  // Forgets the segment, and the executions of its recording that have no segment left.
  Status drop_segment(std::uint64_t number);

  Result<std::vector<SegmentRow>> segments() const;
  // Newest first, until `visit` says false. Parallel workers are part of their leader's row (leader_rows.h).
  Status visit_executions(const WallRange& range, const std::function<bool(ExecutionRow)>& visit) const;
  // The same, at most `limit`.
  Result<std::vector<ExecutionRow>> executions(std::size_t limit, const WallRange& range = {}) const;
  // Those that began in the range (without `ran_since`) and have ended, newest first, until `visit` says
  // false; workers too. Costs and names of processes are left out. A writer gets its turn after each
  // `at_a_time` (at least 1). Where this cuts between some of one recording that began in the same
  // nanosecond, others of these are passed over.
  Status visit_ended(const WallRange& range, std::size_t at_a_time,
                     const std::function<bool(const ExecutionRow&)>& visit) const;
  // Those whose id begins with the hexadecimal digits `prefix`, by id; at most two ids are returned. Where
  // several processes declared one id, the newest execution of the process that was heard of first is
  // returned: no process takes the id of another's execution. For a worker, its leader is returned. Rows that
  // are not `visible` do not exist; empty: all are.
  Result<std::vector<ExecutionRow>> find_executions(
      const std::string& prefix, const std::function<bool(const ExecutionRow&)>& visible = {}) const;
  // What the same execution, of the same process, did in other recordings: it ran while the daemon was
  // started anew. Oldest first.
  Result<std::vector<ExecutionRow>> other_parts(const ExecutionRow& row) const;
  // Executions that were running when their recording ended without saying so: a later one is about to begin.
  Status end_running();
  // Those of a recording that end_running() ended.
  Result<std::vector<profile::ExecutionRecord>> ended_with_daemon(RecordingNumber recording) const;
  // Those of a recording that ran at some time in [from, to], workers too.
  Status executions_within(RecordingNumber recording, TimeNs from, TimeNs to,
                           const std::function<void(const profile::ExecutionRecord&)>& visit) const;
  // All dictionary segments that hold something under `key`.
  Result<std::vector<std::uint64_t>> segments_of(RecordingNumber recording, const EntryKey& key) const;
  // Those that hold the process's record, what it has mapped, or its code.
  Result<std::vector<std::uint64_t>> segments_with_code_of(RecordingNumber recording,
                                                           ProcessId process) const;
  // Those that the process was forked off, whose code it may have; the nearest comes first.
  Result<std::vector<ProcessId>> parents_of(RecordingNumber recording, ProcessId process) const;
  Result<std::vector<std::uint64_t>> used_dictionaries(std::uint64_t data) const;
  // Sealed dictionary segments that no data segment uses.
  Result<std::vector<std::uint64_t>> unused_dictionaries() const;

  // How much of it each user has, the one with most first.
  Result<std::vector<UserUse>> uses() const;
  // Bytes of its file, and those of them that hold something.
  struct Size {
    std::uint64_t file = 0, used = 0;
  };
  Result<Size> size() const;
  // Removes at most `most` of the user's executions, the oldest first: those without samples that ended,
  // those without samples that run, and then those with samples. How many it removed.
  Result<std::uint64_t> remove_executions(std::optional<std::uint32_t> uid, std::uint64_t most);
  // The same of the names of plans and code of the user's processes, and of these processes, the oldest
  // process first.
  Result<std::uint64_t> remove_names(std::optional<std::uint32_t> uid, std::uint64_t most);
  // Executions without samples that ended before, of this recording by its own clock, and of others by
  // CLOCK_REALTIME; at most `most`. How many they were.
  Result<std::uint64_t> drop_old_executions(RecordingNumber recording, TimeNs before,
                                            std::uint64_t before_wall_ns, std::uint64_t most);
  // Adds to what removed() says.
  Status note_removed(const RemovedOfUser& more);
  Result<std::vector<RemovedOfUser>> removed() const;
  // Forgets removals before this time, and the users of processes of which nothing is left.
  Status forget_removed(std::uint64_t before_wall_ns);
  // The segment holds these bytes of the process, beside what was said before. Its user is put_owner()'s.
  Status add_part(RecordingNumber recording, std::uint64_t segment, ProcessId process, std::uint64_t bytes);
  // Of all segments whose file is there. None has segments that an older program wrote.
  Result<std::vector<SegmentPart>> parts() const;
  // The same by user, who has most first.
  Result<std::vector<DiskUse>> disk_uses() const;
  // The user's processes that have a part of the segment.
  Result<std::set<ProcessId>> processes_in(std::uint64_t segment, std::uint32_t uid) const;
  // The segment is as `row` says now, and holds nothing of the processes any more but their names and counts.
  // Their executions that ended by then, and have samples nowhere, go too.
  Status put_cut(const SegmentRow& row, const std::set<ProcessId>& processes);
  // Adds to what cuts() says.
  Status note_cut(const CutOfUser& more);
  Result<std::vector<CutOfUser>> cuts() const;
  // Gives back up to this many bytes of the file that hold nothing. Not within a transaction. `for_long`:
  // also where the whole file must be written anew for it, as that of an older program.
  Status give_back(std::uint64_t bytes, bool for_long);

 private:
  explicit Catalogue(sqlite3* db) : db_(db) {}
  // With EROFS where a change that was not completed is in the way of reading.
  static Result<Catalogue> open(const std::string& path, Mode mode, int flags);
  // The rows of `from`, which is a condition with its table, and `argument` is its "?1"; until `visit` says
  // false. Workers are rows too.
  Status visit_rows(const std::string& from, const std::string& argument,
                    const std::function<bool(ExecutionRow)>& visit) const;
  // Whether this catalogue has the index or table: one that an older program wrote has fewer.
  // No index where it cannot be read: what is asked next says so.
  bool has_index(const char* name) const;
  std::string rate_column() const;
  Result<bool> has(const char* type, const char* name) const;
  // For visit_rows().
  std::string earlier_ones(std::uint64_t since, std::uint64_t until) const;
  // Says in `problem` what could not be read.
  std::vector<profile::ExecutionRecord> records_of(RecordingNumber recording, const ExecutionId& id,
                                                   Status& problem) const;
  Status drop_executions_without_data(RecordingNumber recording);
  // Prepared once: preparing costs more than many a change. `sql` is a literal.
  Statement& kept(const char* sql);
  sqlite3* db_ = nullptr;
  std::map<const char*, std::shared_ptr<Statement>> kept_;
};

}  // namespace tailor::store
