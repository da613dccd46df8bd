// Where requests find profiles: one file, or the store of a daemon.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/query/load/damage.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/sums/costs.h"
#include "daemon/serve/checked_segments.h"
#include "daemon/serve/execution_filter.h"
#include "daemon/serve/gone.h"
#include "daemon/serve/plan_key.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/summary.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::serve {

struct ExecutionList {
  std::vector<store::ExecutionRow> rows;  // newest first
  bool more = false;                      // there are further ones, or there may be
};

// Which executions to show.
struct Target {
  enum class What {
    kDefault,   // of a file everything, of a store the newest execution that has samples
    kAll,       // everything in the file; a store has no such thing
    kLast,      // the newest `count`; one: the newest that has samples, if there is such a one
    kNewest,    // the newest `count`, with samples or without
    kFiltered,  // the newest `count` that pass `filter` (its limit does not count); 0: all of them
    kPrefix,    // the one whose id begins with `prefix`
    kIds,       // those of `ids`
    kProcess,   // of a store: the newest recording as a whole, to look at a process. Of a file: kAll
  };
  What what = What::kDefault;
  std::size_t count = 1;
  std::string prefix = {};  // hexadecimal digits, lower case
  ExecutionFilter filter = {};
  std::vector<ExecutionId> ids = {};  // not empty for kIds
  // [first, second) since the view's origin: other samples may be missing where samples are asked for.
  std::optional<std::pair<TimeNs, TimeNs>> time_alone = {};
};

// What of a profile is loaded beside its sums.
struct Detail {
  bool samples = false;    // one by one: views over time too
  bool activity = false;   // the records of the threads' logs
  bool functions = false;  // the code of all samples
  bool code = false;       // machine code, and samples by its instructions
  bool slices = false;     // samples over slices of time

  bool operator==(const Detail&) const = default;
  bool covers(const Detail& other) const {
    return samples >= other.samples && activity >= other.activity && functions >= other.functions &&
           code >= other.code && slices >= other.slices;
  }
  Detail with(const Detail& other) const {
    return {samples || other.samples, activity || other.activity, functions || other.functions,
            code || other.code, slices || other.slices};
  }
  static const Detail kSums;       // nothing else: reports
  static const Detail kSamples;    // samples and activity
  static const Detail kCode;       // machine code: listings
  static const Detail kFunctions;  // samples and their code
  static const Detail kSlices;     // slices of time

  // Asks for it when a profile is loaded.
  void tell(query::LoadOptions& options) const;
};
inline constexpr Detail Detail::kSums{};
inline constexpr Detail Detail::kSamples{true, true};
inline constexpr Detail Detail::kCode{.code = true};
inline constexpr Detail Detail::kFunctions{.samples = true, .functions = true};
inline constexpr Detail Detail::kSlices{.slices = true};

struct Loaded {
  std::shared_ptr<const query::Profile> profile;
  query::Selection selection;
  std::vector<std::string> notes = {};  // what was left out of what was asked for
};

// Any number of threads may ask.
class Library {
 public:
  virtual ~Library() = default;
  // Calls `take`, newest first, for what passes the filter, its limit apart, until it says false.
  virtual Status visit(const ExecutionFilter& filter, const Stop& stop,
                       const std::function<bool(store::ExecutionRow)>& take) = 0;
  // A page of it.
  Result<ExecutionList> executions(const ExecutionFilter& filter, const Stop& stop);
  // Errors say what was looked for, where, and what to do. Of a parallel worker it is its leader.
  virtual Result<Loaded> load(const Target& target, Detail detail, const Stop& stop,
                              const Visible& visible) = 0;
  // All sums of the hours that the range touches, and what of the samples behind them is damaged. A file has
  // none.
  virtual Result<store::Summary> sums(const store::WallRange& range, const Stop& stop,
                                      query::StoreDamage& damage);
  // Sums of executions whose samples are gone; none of a file, and where sums do not know what the filter
  // asks.
  virtual Result<GoneList> gone(const ExecutionFilter& filter, const SeesUser& sees, const Stop& stop);
  // What was removed from the catalogue of a store to make room, of the users whom the asker may see; none
  // of a file.
  virtual Result<std::vector<store::RemovedOfUser>> removed(const SeesUser& sees);
  // Of those plans that can be read.
  virtual Result<PlanShapes> plan_shapes(const std::set<PlanKey>& plans, const Stop& stop) = 0;
  // Calls `take` with the samples of the range over slices of time, part by part; there may be some from
  // around it too. Exhausted where they are too many to be read for an overview.
  virtual Status visit_slices(const store::WallRange& range, const Stop& stop,
                              const std::function<void(const query::Profile&)>& take) = 0;
  // "" for a store.
  virtual const std::string& file() const = 0;
  // Looks for damage in what a store has of the range, by checksums alone: in the newest segments, up to
  // `most_bytes` of those that it has not looked at yet. Of a file it is known once something of it is
  // loaded.
  virtual Result<Checked> check(const store::WallRange& range, std::uint64_t most_bytes, const Stop& stop);
  // The same of the segments that may hold samples of these executions.
  virtual Result<Checked> check_behind(const std::vector<store::ExecutionRow>& rows, std::uint64_t most_bytes,
                                       const Stop& stop);
};

// `what`, `--last N` and an execution's prefix as people type them: a prefix in any case.
Target prefix_target(std::string prefix);

// Makes a profile of a file.
using FileLoader =
    std::function<Result<query::Profile>(const std::string& path, const query::LoadOptions& options)>;

// Of a file with more samples no part is kept that is asked for as Target::time_alone.
constexpr std::uint64_t kMostKeptSamples = 2'000'000;  // some 130 MB

// Reads the file when it is first needed, and keeps it. `load`: of files of other tools too, where the
// program can read them.
std::unique_ptr<Library> open_file_library(std::string path, FileLoader load = query::Profile::load_file,
                                           std::uint64_t most_kept = kMostKeptSamples);

// `refresh` is called before the store is read: a running daemon writes down what it has. `on_damage` is told
// whenever damage is met. Both may be empty.
std::unique_ptr<Library> open_store_library(std::string directory, std::function<void()> refresh,
                                            query::OnDamage on_damage = {});

// Whether the row passes the filter; its limit and order apart.
bool passes(const ExecutionFilter& filter, const store::ExecutionRow& row);

// The rows that a filter lets through, its limit apart; they come newest first.
class Sieve {
 public:
  explicit Sieve(const ExecutionFilter& filter) : filter_(filter), after_(filter.after.empty()) {}
  bool passes(const store::ExecutionRow& row);

 private:
  const ExecutionFilter& filter_;
  bool after_;
};

// The first rows of a list. Its size is bounded in bytes too: labels may be long.
class Page {
 public:
  explicit Page(std::size_t limit) : limit_(limit) {}
  // Whether it wants more.
  bool take(store::ExecutionRow row);
  ExecutionList finish() { return std::move(list_); }

 private:
  const std::size_t limit_;
  std::size_t bytes_ = 0;
  ExecutionList list_;
};

// How many executions Target::kFiltered takes at most: each costs some memory.
constexpr std::size_t kMostFiltered = 100'000;

// The filter of such a target, with its limit.
ExecutionFilter filter_of(const Target& target, const Visible& visible);
// For the notes, where `list` is all that such a target takes.
std::vector<std::string> cut_off_note(const Target& target, const ExecutionList& list);
// Nothing passes the filter of the target in `where`.
Error none_passes(const ExecutionFilter& filter, const std::string& where);
Error unknown_execution(const std::string& prefix);

// The digits are the start of two executions, these and perhaps more.
Error ambiguous(const std::string& prefix, const ExecutionId& one, const ExecutionId& other);

// The newest executions of a profile as rows, newest first, at most `limit`. Parallel workers are part of
// their leader's row.
std::vector<store::ExecutionRow> rows_of(const query::Profile& profile, std::size_t limit = SIZE_MAX);

}  // namespace tailor::serve
