// Makes a Profile of what a sink is told.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/profile/cell_sums.h"
#include "daemon/profile/sink.h"
#include "daemon/query/load/code_sums.h"
#include "daemon/query/load/function_sums.h"
#include "daemon/query/load/late_names.h"
#include "daemon/query/load/profile.h"
#include "daemon/query/load/profile_shares.h"
#include "daemon/query/load/time_slices.h"
#include "daemon/store/memory_budget.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/result.h"

namespace tailor::query {

// Only what each process says is measured, nothing is kept.
struct OnlyMeasure {};

// Collects a profile from any source of sink calls.
class ProfileLoader : public profile::ProfileSink, public store::SumsTaker {
 public:
  explicit ProfileLoader(const LoadOptions& options) : options_(options) { begin(); }
  ProfileLoader(const LoadOptions& options, OnlyMeasure)
      : options_(options), measures_(true), shares_(std::in_place) {
    begin();
  }
  // One that keeps of each process what `shares` say.
  ProfileLoader(const LoadOptions& options, ProfileShares shares)
      : options_(options), shares_(std::move(shares)) {
    begin();
  }
  // One that knows from the start what `earlier`, which saw the same calls, learned late.
  ProfileLoader(const LoadOptions& options, ProfileLoader&& earlier)
      : options_(options),
        shares_(std::move(earlier.shares_)),
        names_(std::move(earlier.names_)),
        names_are_whole_(true) {
    data_->timelines = earlier.data_->timelines;
    carried_ = names_.bytes() + data_->timelines->bytes();
    if (shares_) shares_->begin();
    begin();
  }

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
  void on_watermark(TimeNs watermark) override;
  // Where all of the samples count and nothing but their sums is asked for.
  bool take(const store::BlockSums& sums) override;
  bool leaves_out(TimeNs first, TimeNs last) const override;

  store::ReadReport& read_report() { return data_->read; }
  store::SaidLoss& said_loss() { return data_->loss; }

  // After each block. Fails where what was collected takes more memory than blocks of that size may.
  Status may_go_on(std::uint64_t read);
  // Whether it failed, and may not where processes have shares.
  bool needs_shares() const { return needs_shares_; }
  // Of one that only measures, after all calls.
  ProfileShares take_shares();
  // Whether something came late that samples before it could have had: names, or code where something else
  // seemed to be. Then the same calls are to be made again to a loader that has it.
  bool learned_late() const {
    return !names_are_whole_ && (!names_.empty() || (options_.functions && data_->timelines->told_late()));
  }

  // Ends the collection; call once.
  Profile finish();

 private:
  void begin() {
    if (options_.slices > 0) slicer_.emplace(options_.slices);
    functions_.emplace(*data_->timelines, names_are_whole_ ? &names_ : nullptr);
  }
  // Whether what the process says is to be kept.
  bool may_keep(const ProfileShares::Item& item, std::size_t bytes);
  bool may_keep_mark(ProcessId process);
  bool may_keep_texts(const profile::ExecutionRecord& execution);
  void keep_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code);
  std::size_t bytes_of(const v1::CodeObject& code) const;
  void add_execution(const profile::ExecutionRecord& execution);
  void select(std::span<const profile::SampleRecord> samples);
  void add(std::span<const profile::SampleRecord> samples);
  std::uint32_t spot_of(const profile::SampleRecord& sample);
  void add_to_hours(std::span<const profile::SampleRecord> samples);
  void add_slices(std::span<const profile::SampleRecord> samples);
  void finish_slices();
  bool are_enough(const store::BlockSums& sums) const;
  void add_place(PlaceKey place, const profile::Sum& sum);

  LoadOptions options_;
  bool measures_ = false;
  bool needs_shares_ = false;
  std::optional<ProfileShares> shares_;  // none: all is kept
  std::size_t kept_ = 0;                 // without shares: bytes of what is in maps and strings, about
  std::size_t counted_twice_ = 0;        // with shares: bytes that containers count too
  std::size_t carried_ = 0;              // bytes of what an earlier loader learned, which had room for it
  std::uint64_t read_ = 0;               // bytes of blocks, before the one that is being read
  std::optional<ProcessId> block_of_;    // who has this block alone
  LateNames names_;
  bool names_are_whole_ = false;
  store::NamesRoom names_room_;
  std::vector<profile::SampleRecord> renamed_;  // the samples of one call
  std::map<ProcessId, std::uint64_t> named_late_;
  profile::CellSums cells_;
  std::map<std::int64_t, profile::CellSums> hours_;
  std::vector<std::uint32_t> numbers_;  // of the cells of the samples of one call
  std::optional<TimeSlicer> slicer_;
  CodeSummer code_;
  std::set<CellKey> keys_;  // of the samples that are kept, and of those in generated code
  std::shared_ptr<Profile::Data> data_ = std::make_shared<Profile::Data>();
  std::optional<FunctionSummer> functions_;
};

// Asks the loader after each block, and `stop` (NULL: nobody).
store::MayGoOn asked_after_blocks(ProfileLoader& loader, const Stop* stop);

}  // namespace tailor::query
