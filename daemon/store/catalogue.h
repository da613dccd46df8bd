// The catalogue of a store: an SQLite file that says which executions there are and in which segments to
// look. It is derived from the segments and can be made again from them (catalogue_segments()).
#pragma once

#include <cstdint>
#include <functional>
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

// One run of a daemon: times of different recordings must not be compared (the clock starts anew with the
// host). Its number is that of its first segment.
using RecordingNumber = std::uint64_t;

struct SegmentRow {
  std::uint64_t number = 0;
  FileKind kind = FileKind::kDataSegment;
  RecordingNumber recording = 0;
  TimeNs first = kTimeMax, last = kTimeMin;  // of its samples and activity
  std::uint64_t bytes = 0, samples = 0;
  std::uint64_t wall_ns = 0;  // CLOCK_REALTIME of its creation
  bool sealed = false;        // finished
  // Its file was deleted before it was summed up (StoreWriter::give_up_oldest): others have a header at
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
};

// The error of executions whose recorder was killed.
inline constexpr const char* kDaemonEnded = "daemon ended";

enum class EntryKind : int { kProcess = 1, kPlan = 2, kCode = 3 };

struct EntryKey {
  ProcessId process;
  EntryKind kind = EntryKind::kProcess;
  std::uint64_t id = 0;  // of the plan or code object
  auto operator<=>(const EntryKey&) const = default;
};

// What an entry of a process is named in the catalogue: both of its names.
std::string process_entry_name(const profile::ProcessRecord& process);

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
  static Result<Catalogue> open(const std::string& path, Mode mode);
  Catalogue(Catalogue&&) noexcept;
  Catalogue& operator=(Catalogue&&) noexcept;
  ~Catalogue();

  // A change that another program's reading keeps from being made fails with EBUSY after two seconds; with
  // false here at once, for threads that have more to do.
  void wait_for_readers(bool for_long);

  // What is written between these is there after a crash as a whole or not at all.
  Status begin();
  Status commit();
  // As if begin() had not been called. Does nothing outside of a transaction.
  void rollback();

  Status put_segment(const SegmentRow& row);
  Status put_execution(RecordingNumber recording, const profile::ExecutionRecord& record,
                       std::uint64_t wall_begin_ns);
  // Adds to what data segment `data` holds of the execution.
  Status add_cost(std::uint64_t data, RecordingNumber recording, ProcessId process, ExecutionHandle handle,
                  const ExecutionCost& cost);
  // `segment`, a dictionary segment, holds what `key` names; for a plan, its name; for a process,
  // process_entry_name(). Without a name, the one that is there stays.
  Status put_entry(RecordingNumber recording, const EntryKey& key, std::uint64_t segment,
                   const std::string& name);
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
  // Those whose id begins with the hexadecimal digits `prefix`, by id; at most two ids are returned. Of an id
  // that several processes declared it is the newest execution of the process that was heard of first: nobody
  // makes another's his. Of a worker it is its leader. Rows that are not `visible` do not exist; empty: all
  // are.
  Result<std::vector<ExecutionRow>> find_executions(
      const std::string& prefix, const std::function<bool(const ExecutionRow&)>& visible = {}) const;
  // Executions that were running when their recording ended without saying so: a later one is about to begin.
  Status end_running();
  // Those of a recording that end_running() ended.
  Result<std::vector<profile::ExecutionRecord>> ended_with_daemon(RecordingNumber recording) const;
  // Those of a recording that ran at some time in [from, to], workers too.
  Status executions_within(RecordingNumber recording, TimeNs from, TimeNs to,
                           const std::function<void(const profile::ExecutionRecord&)>& visit) const;
  // All dictionary segments that hold something under `key`.
  Result<std::vector<std::uint64_t>> segments_of(RecordingNumber recording, const EntryKey& key) const;
  Result<std::vector<std::uint64_t>> used_dictionaries(std::uint64_t data) const;
  // Sealed dictionary segments that no data segment uses.
  Result<std::vector<std::uint64_t>> unused_dictionaries() const;

 private:
  explicit Catalogue(sqlite3* db) : db_(db) {}
  // With EROFS where a change that was not completed is in the way of reading.
  static Result<Catalogue> open(const std::string& path, Mode mode, int flags);
  // The rows of `from`, which is a condition with its table, and `argument` is its "?1"; until `visit` says
  // false. Workers are rows too.
  Status visit_rows(const std::string& from, const std::string& argument,
                    const std::function<bool(ExecutionRow)>& visit) const;
  // Whether this catalogue has the index: one that an older program wrote has fewer.
  bool has_index(const char* name) const;
  // For visit_rows().
  std::string earlier_ones(std::uint64_t since, std::uint64_t until) const;
  std::vector<profile::ExecutionRecord> records_of(RecordingNumber recording, const ExecutionId& id) const;
  Status drop_executions_without_data(RecordingNumber recording);
  Status put_execution_end(RecordingNumber recording, const profile::ExecutionRecord& record);
  sqlite3* db_ = nullptr;
};

}  // namespace tailor::store
