// The store of a daemon as a ProfileSink: a directory of segments and their catalogue.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/os/files.h"
#include "daemon/profile/kernel_ranges.h"
#include "daemon/profile/sink.h"
#include "daemon/store/block_writer.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_budget.h"
#include "daemon/store/catalogue_notes.h"
#include "daemon/store/encoder.h"
#include "proto/base/result.h"

namespace tailor::store {

struct StoreOptions {
  std::uint64_t segment_bytes = 64u << 20;                // a data segment ends at this size
  TimeNs segment_time = 600'000'000'000;                  // or when it covers this much time
  std::uint64_t dictionary_bytes = 64u << 20;             // a dictionary segment ends at this size
  std::uint64_t keep_bytes = 4ull << 30;                  // retention: of all segments together, 0 for ever
  std::uint64_t keep_ns = 7ull * 86'400 * 1'000'000'000;  // and by age, 0 for ever
  // Of the catalogue, 0 any number; what is beyond goes (catalogue_budget.h).
  std::uint64_t catalogue_bytes = catalogue_budget(4ull << 30);
  bool summaries = false;                 // retention waits until a segment is summed up: due_for_summary()
  TimeNs sync_interval = 10'000'000'000;  // what a power failure may cost at most
  TimeNs flush_interval = 500'000'000;    // what the death of the daemon may cost, beside what waits
  // Something cannot be written, and why; empty: it can again. Called from the sink calls.
  std::function<void(const std::string& problem)> on_problem;
  // What was renamed because it cannot be used, and what was deleted; for the log. Called from open() and the
  // sink calls.
  std::function<void(const std::string& what)> on_put_aside, on_removed;
  EncoderOptions encoder;
  os::Files* files = &os::real_files();
};

// Data segments hold samples, activity and executions; dictionary segments hold what they name: processes,
// threads, components, plans, code. A dictionary segment stays as long as a data segment uses it. One thread;
// a second writer of the same directory is refused. Write errors do not surface from the sink calls: see
// stats().
class StoreWriter : public profile::ProfileSink {
 public:
  // Creates what is missing, makes the catalogue anew where it is damaged, and brings up to date what a
  // writer that was killed left behind. Fails with ENOTSUP, before anything is changed, where any file is of
  // a newer program; with EBUSY where another program reads the catalogue all the time. `wall_clock_ns` is
  // CLOCK_REALTIME now, for retention.
  static Result<std::unique_ptr<StoreWriter>> open(const std::string& directory, const StoreOptions& options,
                                                   std::uint64_t wall_clock_ns);
  ~StoreWriter() override;

  void on_recording(const profile::RecordingInfo& info) override;
  void on_process(const profile::ProcessRecord& process) override;
  void on_thread(ProcessId process, std::int32_t tid, const std::string& name) override;
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override;
  void on_mapping(const profile::MappingRecord& mapping) override;
  void on_names(const profile::FileNames& names) override;
  void on_region_kind(ProcessId process, const v1::RegionKind& kind) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  void on_activity(std::span<const profile::ActivityRecord> records) override;
  void on_accounting(const profile::Accounting& accounting) override;
  // Flushes, rolls segments and applies retention when their time has come.
  void on_watermark(TimeNs watermark) override;

  // From the next time on that old segments are looked for; units and 0 as in StoreOptions.
  void set_retention(std::uint64_t keep_bytes, std::uint64_t keep_ns, std::uint64_t catalogue_bytes);
  // How much of the catalogue each user has, and what was removed.
  Result<std::vector<UserUse>> catalogue_uses() const { return catalogue_.uses(); }
  Result<std::vector<RemovedOfUser>> catalogue_removed() const { return catalogue_.removed(); }

  // With StoreOptions::summaries: data segments that retention would remove if they were summed up, the
  // oldest first. Empty where the catalogue cannot be read.
  std::vector<SegmentRow> due_for_summary() const;
  // The data segments up to this number are summed up, durably (summary_files.h). Those that are due go.
  void summed_up(std::uint64_t last);
  // The file of the oldest of them is deleted without that: retention must go on where sums cannot be
  // written. Its row stays, without bytes, so that the next sums count its samples as unwritten. Whether
  // there was one.
  bool give_up_oldest();
  struct GivenUp {
    std::uint64_t segments = 0, samples = 0;
  };
  // Since open().
  const GivenUp& given_up() const { return given_up_; }
  // Why they could not be summed up; empty: they could. It is one of the problems of this store.
  void set_summary_problem(const std::string& problem) { summary_problem_ = problem; }

  // Everything given so far can be read, and is in the catalogue, once this returns. EBUSY where somebody
  // reads the catalogue just then: it does not wait for him, so that nothing waits for it.
  Status flush();
  // Seals the segments. Nothing may be given afterwards. Fails if anything, now or before, was lost.
  Status finish();

  // Written and lost since open(), over all segments.
  WriteStats stats() const;
  // What keeps going wrong with segments, catalogue, rolling or retention; empty: nothing.
  const std::string& last_problem() const { return told_problem_; }
  RecordingNumber recording() const { return recording_; }

 private:
  class Segment;

  StoreWriter(std::string directory, const StoreOptions& options, Catalogue catalogue, UniqueFd lock);
  Result<std::unique_ptr<Segment>> create_segment(FileKind kind);
  profile::ProfileSink& data();
  profile::ProfileSink& dictionary();
  void enter_in_catalogue();
  Status write_catalogue();
  void roll_where_due();
  void roll(std::unique_ptr<Segment>& segment, FileKind kind);
  void begin_data_segment();
  void on_kernel_code(const profile::MappingRecord& mapping);
  void apply_retention();
  Status make_room_in_catalogue();
  Status drop_old_executions();
  void tidy_catalogue();
  std::uint64_t wall_now() const;
  std::uint64_t age_of(const SegmentRow& row) const;
  // What is too old, or too much, the oldest first.
  std::vector<SegmentRow> due(const std::vector<SegmentRow>& rows) const;
  Status remove_segment(std::uint64_t number, FileKind kind);
  Status remove_file(std::uint64_t number, FileKind kind);
  void tell_removed(const std::string& what) const;
  void complain(const Status& status);
  void complain_of_catalogue(const Status& status);
  void settle_problem();
  void flush_segments();
  void forget_notes_if_too_many();

  std::string directory_;
  StoreOptions options_;
  Catalogue catalogue_;
  CatalogueBudget budget_;
  UniqueFd lock_;
  CatalogueNotes notes_;
  RecordingNumber recording_ = 0;
  std::uint64_t next_number_ = 1;
  std::uint64_t summed_up_to_ = 0;  // the number of a data segment
  GivenUp given_up_;
  std::unique_ptr<Segment> data_, dictionary_;
  WriteStats sealed_stats_;

  // Given again when a data segment begins.
  profile::RecordingInfo info_;
  std::map<ExecutionKey, profile::ExecutionRecord> live_executions_;
  profile::KernelRanges kernel_code_;
  struct Totals {
    profile::Accounting accounting;
    bool changed = true;  // since this data segment began
  };
  // Of those that changed in the last two data segments, and of those that lost something.
  std::map<ProcessId, Totals> accounting_;

  std::uint64_t wall_clock_ns_ = 0;  // at first_watermark_, as long as the recording says nothing of it
  TimeNs watermark_ = kTimeMin, first_watermark_ = kTimeMin, entered_ = kTimeMin, synced_ = kTimeMin,
         flushed_ = kTimeMin, tidied_ = kTimeMin;
  TimeNs segment_began_ = kTimeMin;
  bool waits_for_readers_ = false;  // the catalogue lacks what was noted since waits_since_
  TimeNs waits_since_ = kTimeMax;
  std::string summary_problem_;
  std::string problem_;       // of this round
  std::string told_problem_;  // as it is known outside
};

}  // namespace tailor::store
