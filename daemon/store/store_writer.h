// The store of a daemon as a ProfileSink: a directory of segments and their catalogue.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/profile/kernel_ranges.h"
#include "daemon/profile/sink.h"
#include "daemon/store/block_writer.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/catalogue_keeper.h"
#include "daemon/store/catalogue_notes.h"
#include "daemon/store/large_blocks.h"
#include "daemon/store/store_options.h"
#include "daemon/store/unsampled_executions.h"
#include "proto/base/result.h"

namespace tailor::store {

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
  void on_shared_plan(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::Plan> plan) override;
  void on_shared_code(ProcessId process, TimeNs loaded, std::shared_ptr<const v1::CodeObject> code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  void on_activity(std::span<const profile::ActivityRecord> records) override;
  void on_accounting(const profile::Accounting& accounting) override;
  // Flushes, rolls segments and applies retention when their time has come.
  void on_watermark(TimeNs watermark) override;

  // From the next time on that old segments are looked for; units and 0 as in StoreOptions. Any thread.
  void set_retention(std::uint64_t keep_bytes, std::uint64_t keep_ns, std::uint64_t catalogue_bytes) {
    keeper_->set_retention(keep_bytes, keep_ns, catalogue_bytes);
  }
  // How much of the catalogue each user has, and what was removed. Any thread.
  Result<std::vector<UserUse>> catalogue_uses() const { return keeper_->uses(); }
  Result<std::vector<RemovedOfUser>> catalogue_removed() const { return keeper_->removed(); }

  // How much of the segments each user has, and what went because it was too much. Any thread.
  Result<std::vector<DiskUse>> disk_uses() const { return keeper_->disk_uses(); }
  Result<std::vector<CutOfUser>> cuts() const { return keeper_->cuts(); }

  // With StoreOptions::summaries, and of any thread: data segments that retention would remove if they were
  // summed up, the oldest first.
  Result<std::vector<SegmentRow>> due_for_summary() const { return keeper_->due_for_summary(); }
  // The data segments up to this number are summed up, durably (summary_files.h). Those that are due go.
  Status summed_up(std::uint64_t last) { return keeper_->summed_up(last); }
  // Some of it is deleted without that: retention must go on where sums cannot be written. What a user has
  // beyond a share goes first: it is cut out of the oldest segment, unless `may_go_on` fails meanwhile. Else
  // the file of the oldest goes. The next sums count these samples as unwritten. Whether something went. One
  // thread at a time.
  Result<bool> give_up_some(const MayGoOn& may_go_on = {}) { return keeper_->give_up_some(may_go_on); }
  // Since open().
  GivenUp given_up() const { return keeper_->given_up(); }
  // Why they could not be summed up; empty: they could. It is one of the problems of this store.
  void set_summary_problem(const std::string& problem) { keeper_->set_summary_problem(problem); }

  // Everything given so far can be read, and is in the catalogue, once this returns. EBUSY where somebody
  // reads the catalogue just then: it does not wait for that.
  Status flush();
  // The same for a thread that must not wait: it begins a flush, and another thread waits for it.
  Result<CatalogueKeeper::Ticket> begin_flush();
  Status wait_for(CatalogueKeeper::Ticket flush) { return keeper_->wait(flush); }
  // Seals the segments. Nothing may be given afterwards. Fails if anything, now or before, was lost.
  Status finish();

  // Written and lost since open(), over all segments.
  WriteStats stats() const;
  // What keeps going wrong with segments, catalogue, rolling or retention; empty: nothing.
  const std::string& last_problem() const { return told_problem_; }
  RecordingNumber recording() const { return recording_; }
  // The number of the data segment that samples go to.
  std::uint64_t data_segment() const;

 private:
  class Segment;

  StoreWriter(std::string directory, const StoreOptions& options, UniqueFd lock);
  // The first segments, and the catalogue with them.
  Status begin(Catalogue catalogue, std::uint64_t summed_up_to);
  Result<std::unique_ptr<Segment>> create_segment(FileKind kind);
  profile::ProfileSink& data();
  profile::ProfileSink& dictionary();
  CatalogueBatch take_batch();
  CatalogueKeeper::Ticket hand_over(CatalogueBatch batch);
  CatalogueKeeper::Ticket enter_in_catalogue();
  void roll_where_due();
  void roll(std::unique_ptr<Segment>& segment, FileKind kind);
  void begin_data_segment();
  void on_kernel_code(const profile::MappingRecord& mapping);
  std::uint64_t wall_now() const;
  void complain(const Status& status);
  void settle_problem();
  void flush_segments();
  void take_large();
  void write_execution(const profile::ExecutionRecord& execution);

  std::string directory_;
  StoreOptions options_;
  UniqueFd lock_;
  std::unique_ptr<CatalogueKeeper> keeper_;
  CatalogueNotes notes_;
  RecordingNumber recording_ = 0;
  std::uint64_t next_number_ = 1;
  std::unique_ptr<Segment> data_, dictionary_;
  LargeBlocks large_;  // for dictionary_
  struct Unload {
    ProcessId process;
    TimeNs time = 0;
    CodeId code = 0;
  };
  std::vector<Unload> unloads_;  // of code that large_ has
  WriteStats sealed_stats_;

  // Given again when a data segment begins.
  profile::RecordingInfo info_;
  std::map<ExecutionKey, profile::ExecutionRecord> live_executions_;
  std::unique_ptr<UnsampledExecutions> unsampled_;  // NULL: all have rows of their own
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
  std::string problem_;       // of this round
  std::string told_problem_;  // as it is known outside
};

}  // namespace tailor::store
