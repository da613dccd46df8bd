// Several recordings of one store as one: the daemon was restarted, or the host was booted, in between. Times
// are those of the newest one's clock.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "daemon/profile/forwarding_sink.h"
#include "daemon/profile/records.h"
#include "daemon/query/load/profile_loader.h"
#include "daemon/store/catalogue.h"
#include "daemon/store/profile_reader.h"
#include "proto/base/result.h"
#include "proto/base/stop.h"

namespace tailor::query {

// A recording as a part of such a whole. Immutable.
struct ChainLink {
  store::RecordingNumber number = 0;
  profile::RecordingInfo info;
  // To the time of the newest recording. Of the same boot both clocks are one (CLOCK_MONOTONIC_RAW); else it
  // is by the wall clock, as precise as that.
  TimeNs shift = 0;
  // Processes of other boots are others, whatever their number and the time of their start: that is told
  // apart here. 0: of the newest recording's boot.
  std::uint64_t boot = 0;

  TimeNs time(TimeNs of) const { return of == kTimeMin || of == kTimeMax ? of : of + shift; }
  ProcessId process(ProcessId of) const {
    return of == ProcessId{} ? of : ProcessId{of.pid, of.start | boot};
  }
};

// Why a recording is none of the whole.
enum class Unchained : std::uint8_t {
  kAnotherShare,   // of the executions was sampled
  kAnotherBoot,    // whose kernel has its functions elsewhere, where functions are asked for
  kNoTime,         // of another boot, and nobody knows when it was
  kTooMany,        // newer ones were taken
  kNothingIsLeft,  // of what it wrote
};
struct Chain {
  std::vector<ChainLink> links;  // by number, ascending: the newest last
  std::map<store::RecordingNumber, Unchained> left_out;
};

// Those of `recordings` (by number, ascending, not empty) that can be one profile with the newest of them.
// Fails where the store cannot be read, and where `stop` (NULL: nobody) says so.
inline constexpr std::size_t kMostLinks = 64;
Result<Chain> chain_recordings(const std::string& directory, const store::Catalogue& catalogue,
                               std::span<const store::RecordingNumber> recordings, bool with_functions,
                               const Stop* stop);

// Gives a loader what is said of the links, one after the other, in their order. One thread.
class RecordingChain : public profile::ForwardingSink, public store::SumsTaker {
 public:
  // Both must outlive it.
  RecordingChain(std::span<const ChainLink> links, ProfileLoader& to);

  // Everything that comes now is of this one.
  void enter(const ChainLink& link);
  // All was given: what the recordings counted is told.
  void finish() { tell_recording(true); }

  void on_recording(const profile::RecordingInfo& info) override;
  void on_process(const profile::ProcessRecord& process) override;
  void on_thread(ProcessId process, std::int32_t tid, const std::string& name) override;
  void on_component(ProcessId process, std::uint32_t id, const std::string& name) override;
  void on_mapping(const profile::MappingRecord& mapping) override;
  void on_region_kind(ProcessId process, const v1::RegionKind& kind) override;
  void on_plan(ProcessId process, TimeNs loaded, const v1::Plan& plan) override;
  void on_code(ProcessId process, TimeNs loaded, const v1::CodeObject& code) override;
  void on_code_unload(ProcessId process, TimeNs time, CodeId code) override;
  void on_execution(const profile::ExecutionRecord& execution) override;
  void on_samples(std::span<const profile::SampleRecord> samples) override;
  void on_activity(std::span<const profile::ActivityRecord> records) override;
  void on_accounting(const profile::Accounting& accounting) override;
  void on_watermark(TimeNs watermark) override { to_.on_watermark(link_->time(watermark)); }
  // Sums name sources and processes as the recording does.
  bool take(const store::BlockSums& sums) override { return is_like_the_whole_ && to_.take(sums); }
  bool leaves_out(TimeNs first, TimeNs last) const override {
    return to_.leaves_out(link_->time(first), link_->time(last));
  }

 private:
  // What a process said, in the last recording that knew it.
  struct Known {
    const ChainLink* link = nullptr;
    profile::ProcessRecord record;
    const ChainLink* mapped_in = nullptr;  // the first recording that told what it had mapped
    std::map<PlanId, const ChainLink*> plans;
    std::map<CodeId, const ChainLink*> codes;  // that are loaded
  };

  std::uint16_t source_of(const profile::Source& source);
  std::uint32_t wait_of(const std::string& name);
  void number(const profile::RecordingInfo& info);
  void tell_recording(bool whole);

  ProfileLoader& to_;
  const profile::RecordingInfo newest_;
  const store::RecordingNumber newest_number_;
  const ChainLink* link_ = nullptr;
  std::map<const ChainLink*, profile::RecordingInfo> said_;  // as it was said last; in the order of links
  std::vector<profile::Source> sources_;
  std::vector<std::string> waits_;
  std::map<std::uint16_t, std::uint16_t> source_numbers_;  // of the link
  std::vector<std::uint32_t> wait_numbers_;                // of the link
  bool is_like_the_whole_ = false;                         // the link's samples can be taken as they are
  std::map<ProcessId, Known> processes_;
  std::map<ProcessId, profile::Accounting> before_;  // of the links before
  std::map<ProcessId, profile::Accounting> now_;     // of the link
  std::vector<profile::SampleRecord> samples_;       // of one call
};

}  // namespace tailor::query
