// A profile in memory, ready to be asked: who was there, what they said, and the samples added up by
// everything a report may ask for. The same for a file and for the store of a running daemon.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "daemon/profile/sink.h"
#include "daemon/query/code/code_timelines.h"
#include "daemon/query/load/cell.h"
#include "daemon/query/load/code_sums.h"
#include "daemon/query/load/execution_table.h"
#include "daemon/query/load/function_sums.h"
#include "daemon/query/load/leads.h"
#include "daemon/query/load/plan_model.h"
#include "daemon/query/load/profile_shares.h"
#include "daemon/query/load/time_slices.h"
#include "daemon/query/symbols/stored_names.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/file_io.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::query {

// One sample of a profile that keeps them apart.
struct TimedSample {
  TimeNs time = 0;
  std::int32_t tid = 0;
  std::uint32_t node = 0;  // of FunctionSums::nodes, with LoadOptions::functions
  std::uint64_t weight = 0;
  const CellKey* key = nullptr;  // of its cell
  std::uint64_t address = 0;     // of data; meaningful where key->address_from says so
  std::uint32_t latency = 0;     // cycles of that access, 0 unknown
  std::uint32_t cpu = 0;         // profile::kEveryCpu: not known
  std::uint32_t spot = 0;        // of CodeSums::spots, with LoadOptions::code
};

using Places = std::map<PlaceKey, profile::Sum>;

struct CodeInfo {
  struct Function {
    std::uint32_t begin, end;  // from `base`
    std::string name;
  };
  // The function that holds the address, "": none does. Where no functions were told, the name of the whole.
  const std::string& function_at(std::uint64_t address) const;

  PlanId plan = 0;
  std::string name, tier;
  std::uint64_t base = 0, size = 0;
  LinkSets link_sets;
  std::vector<Function> functions;  // by begin; with LoadOptions::functions
};

// Of a process: (process, id within it).
template <typename Id>
using InProcess = std::pair<ProcessId, Id>;

struct LoadOptions {
  TimeNs from = kTimeMin;  // samples in [from, to] count
  TimeNs to = kTimeMax;
  bool keep_samples = false;   // samples() and marks() too: some 56 bytes a sample
  bool keep_activity = false;  // activity() too: some 56 bytes a record
  const Stop* stop = nullptr;  // loading fails once it says so
  bool functions = false;      // functions() too
  bool code = false;           // code_sums() and code_object() too
  bool hours = false;          // hours() too
  bool sums = true;            // sums are read where the profile has them, else each sample
  std::size_t slices = 0;      // > 0: slices() too, of this number of rows at most
};

// Immutable once loaded; any number of threads may read it.
class Profile {
 public:
  // Fails where store::read_profile does. Damage is in read_report().
  static Result<Profile> load(store::Input& input, const LoadOptions& options = {});
  static Result<Profile> load_file(const std::string& path, const LoadOptions& options = {});
  // One recording of a store, or the part of it that `options` says.
  static Result<Profile> load_store(const std::string& directory, const store::Catalogue& catalogue,
                                    store::RecordingNumber recording, const LoadOptions& options = {});

  // From calls that `read` makes to a loader: once, or the same again to another one where names came late,
  // or where processes said more than fits (ProfileShares).
  static Result<Profile> load_from(const LoadOptions& options,
                                   const std::function<Status(class ProfileLoader&)>& read);

  const profile::RecordingInfo& recording() const { return data_->recording; }
  // From a recording of perf.
  bool is_imported() const { return recording().sampling_notes.starts_with("imported from perf.data"); }
  const std::map<ProcessId, profile::ProcessRecord>& processes() const { return data_->processes; }
  // By begin. Records are given by value.
  const ExecutionTable& executions() const { return data_->executions; }
  const Cells& cells() const { return *cells_; }
  // Of all samples only: none in a profile of some of them.
  const Places& places() const {
    static const Places none;
    return narrowed_to_.empty() ? data_->places : none;
  }
  // Whose code was where, at what time.
  const CodeTimelines& timelines() const { return *data_->timelines; }
  // Of functions in files and in the kernel, as the recorder found them.
  const StoredNames& names() const { return data_->names; }
  // The one of process {} is that of the rings.
  const std::map<ProcessId, profile::Accounting>& accounting() const { return data_->accounting; }
  const store::ReadReport& read_report() const { return data_->read; }
  const store::SaidLoss& said_loss() const { return data_->loss; }
  // What processes said beyond their shares, where all together said more than fits; else empty.
  const std::map<ProcessId, LeftOut>& left_out() const { return data_->left_out; }
  // Functions of files and of the kernel whose names are in the file, and for which there was no room.
  std::uint64_t names_left_out() const { return data_->names_left_out; }
  // Sentences that say what of processes was left out; "" if nothing was. Texts of the file are in it.
  std::string left_out_text() const;
  TimeNs last_time() const { return data_->last_time; }  // of anything in it; kTimeMin: nothing

  // With LoadOptions::functions, else empty: the code of all samples, and the sums of those that are here.
  const FunctionSums& functions() const { return data_->functions; }
  const FunctionSums::Cells& function_cells() const { return *function_cells_; }
  // With LoadOptions::code, else empty: samples in generated code by their instruction.
  const CodeSums& code_sums() const { return *code_sums_; }
  // With LoadOptions::keep_samples, else empty: all samples, and the marks of executions and iterations.
  const std::vector<TimedSample>& samples() const { return data_->samples; }
  const std::vector<profile::ActivityRecord>& marks() const { return data_->marks; }
  // With LoadOptions::keep_activity, else empty: all records of the threads' logs, of the whole time that was
  // read.
  const std::vector<profile::ActivityRecord>& activity() const { return data_->activity; }
  // "" where nothing is known of the thread.
  std::string thread_name(ProcessId process, std::int32_t tid) const;
  const std::map<InProcess<std::uint32_t>, v1::RegionKind>& region_kinds() const {
    return data_->region_kinds;
  }
  // With LoadOptions::slices, else empty: all samples over slices of time, by time. Cells are places in
  // cells(). There are more rows than asked for where slices cannot be longer.
  const std::vector<SliceRow>& slices() const { return data_->slices; }
  TimeNs slice_ns() const { return data_->slice_ns; }
  // The same profile with some of its samples() only. `what` says which ones, for reports; it may hold names.
  Profile only(const std::function<bool(const TimedSample&)>& keep, std::string what) const;
  // The same profile with these sums, which are sorted by their key.
  Profile with_cells(Cells cells) const;
  // With LoadOptions::hours, else empty: the hours since 1970 UTC in which samples were taken, by the wall
  // clock as it was set when their segment was written. Samples whose time of day is not known are in hour 0.
  std::vector<std::int64_t> hours() const;
  // The same profile with the samples of one of them only.
  Profile hour(std::int64_t hour) const;
  // The sum of that hour's cell with this key, in whole numbers; null where it has none.
  const profile::Sum* sum_of_hour(std::int64_t hour, const CellKey& key) const;
  const std::string& narrowed_to() const { return narrowed_to_; }  // "": it has all

  // Null where the profile does not hold it.
  const PlanModel* plan(ProcessId process, PlanId id) const;
  const CodeInfo* code(ProcessId process, CodeId id) const;
  // Whether it holds any code object of the process.
  bool has_code(ProcessId process) const;
  // With LoadOptions::code only; without its unwind table and attachments.
  const v1::CodeObject* code_object(ProcessId process, CodeId id) const;
  const profile::ExecutionRecord* execution(ProcessId process, ExecutionHandle handle) const;
  // The execution that this one worked for; itself where it worked for none.
  InProcess<ExecutionHandle> led_by(ProcessId process, ExecutionHandle execution) const;
  // The key under which the leader of the execution has such costs; the same where there is none, or where
  // the leader does not know the plan or the engine component.
  CellKey for_leader(const CellKey& key) const;
  // The content of the plan's attachment of that kind.
  const std::string* attachment(ProcessId process, PlanId plan, std::string_view kind) const;
  std::string engine_component_name(ProcessId process, std::uint32_t id) const;
  std::string region_name(ProcessId process, std::uint32_t kind) const;
  // What the engine says that was waited for (CellKey::engine_wait); "" of 0.
  std::string wait_event(std::uint32_t number) const;
  // The name of a source, its unit; "source <n>" where the recording does not say.
  profile::Source source(std::uint16_t index) const;

  struct Data {
    profile::RecordingInfo recording;
    std::map<ProcessId, profile::ProcessRecord> processes;
    ExecutionTable executions;
    Leads leads;
    std::map<InProcess<PlanId>, PlanModel> plans;
    std::map<InProcess<CodeId>, CodeInfo> codes;
    std::map<InProcess<std::uint32_t>, std::string> components;
    std::map<InProcess<std::uint32_t>, v1::RegionKind> region_kinds;
    std::map<InProcess<std::int32_t>, std::string> threads;
    std::map<InProcess<std::string>, std::string> attachments;  // by sha256
    Cells cells;
    std::map<std::int64_t, std::vector<std::pair<CellKey, profile::Sum>>> sums_of_hours;
    FunctionSums functions;
    CodeSums code_sums;
    std::map<InProcess<CodeId>, v1::CodeObject> code_objects;
    std::vector<TimedSample> samples;
    std::vector<SliceRow> slices;
    TimeNs slice_ns = 1;
    std::vector<profile::ActivityRecord> marks;
    std::vector<profile::ActivityRecord> activity;
    Places places;
    StoredNames names;
    std::shared_ptr<CodeTimelines> timelines = std::make_shared<CodeTimelines>();
    std::map<ProcessId, profile::Accounting> accounting;
    store::ReadReport read;
    store::SaidLoss loss;
    TimeNs last_time = kTimeMin;
    std::map<ProcessId, LeftOut> left_out;
    std::uint64_t late_left_out = 0;  // pieces of code that LateNames left out
    std::uint64_t names_left_out = 0;
  };

 private:
  explicit Profile(std::shared_ptr<const Data> data)
      : data_(std::move(data)),
        cells_(data_, &data_->cells),
        function_cells_(data_, &data_->functions.cells),
        code_sums_(data_, &data_->code_sums) {}
  std::shared_ptr<const Data> data_;
  std::shared_ptr<const Cells> cells_;
  std::shared_ptr<const FunctionSums::Cells> function_cells_;
  std::shared_ptr<const CodeSums> code_sums_;
  std::string narrowed_to_;
  friend class ProfileLoader;
};

}  // namespace tailor::query
