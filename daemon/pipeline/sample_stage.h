// The road of a sample from the sorter to the sink, the same for all: whose it is, on whose behalf its thread
// works, to whom its address or tag belongs, whether it counts here, and what it was counted as.
//
//   sorter --> owner --> context of the thread --> attribute() --> keep() --> what else it says --> sink
//                        (a span of samples has one)                 |
//                                                                    +--> Tally --> the process's account
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "daemon/capture/decode/batch.h"
#include "daemon/capture/decode/intake.h"
#include "daemon/capture/decode/off_cpu.h"
#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/memory_access.h"
#include "daemon/pipeline/process_news.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/pipeline/thread_spans.h"
#include "daemon/pipeline/wait_names.h"
#include "daemon/profile/sink.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// One thread. Everything passed to the constructor must outlive it.
class SampleStage {
 public:
  // `slot_states`: what a sample says by the slot of its thread is believed before the log.
  SampleStage(profile::ProfileSink& sink, ProcessTable& table, Accounts& accounts, ProcessNews& news,
              WaitNames& waits, const capture::OffCpuTracker& off_cpu, bool slot_states)
      : sink_(sink),
        table_(table),
        accounts_(accounts),
        news_(news),
        waits_(waits),
        off_cpu_(off_cpu),
        slot_states_(slot_states) {}

  // How the recording is made; tells the sink.
  void recorded(const profile::RecordingInfo& info);

  // Samples in the order of their time. Nearly all are of user code and say nothing of memory: they come as
  // they lie in the ring. False: this one must come as an event.
  [[nodiscard]] bool take(const capture::PackedSample& sample);
  void take(const capture::Batch& batch, capture::Event& event);
  // One that came too late to be attributed: it is counted, not guessed at.
  void late(const capture::Event& event);
  // Samples of executions that are not drawn, which nobody saw.
  void not_drawn(std::int32_t pid, TimeNs time, std::uint64_t samples, std::uint64_t on_cpu_ns);

  // Counts what is not counted yet. Before anything that changes what processes are, and before what samples
  // count is looked at.
  void settle() {
    spans_.end_all([this](ThreadSpan& span) { count(span); });
  }
  // Gives to the sink what it has not yet.
  void flush();
  // Processes are gone. Between settle() and the next sample.
  void forget_processes() { spans_.forget_numbers(); }

  // Given to the sink.
  std::uint64_t samples() const { return given_; }

 private:
  // Where the tag of an agent of that strategy lies among the sampled registers.
  struct TagPlace {
    std::uint32_t strategy = 0;
    std::uint32_t registers = 0;
    bool present = false;
    std::uint32_t before = 0;  // sampled registers with lower numbers
  };

  bool is_on_cpu(std::uint16_t source) const { return source < on_cpu_.size() && on_cpu_[source] != 0; }
  void met(ProcessEntry& entry, TimeNs time);
  bool begin(ThreadSpan& span, const capture::PackedSample& sample);
  bool find_tag(const ProcessEntry& entry, std::uint32_t registers);
  void look_for_tag(std::uint32_t strategy, std::uint32_t registers);
  bool give_owner(const ProcessEntry& entry, const process::ThreadContext& context, std::uint8_t tag_from,
                  std::span<const std::uint64_t> chain, capture::Part part, profile::SampleRecord& record,
                  Tally& tally);
  static bool keep(const ProcessEntry& entry, capture::Part part, profile::SampleRecord& record,
                   Tally& tally);
  bool follow_state(ThreadSpan& span, const capture::PackedSample& sample);
  SlotReading reading_of(const ProcessEntry& entry, TimeNs time, const std::uint64_t* state) const;
  void count(ProcessEntry& entry, std::uint16_t source, SlotReading reading, Tally& tally);
  void count(ThreadSpan& span) { count(*span.entry, span.record.source, span.reading, span.tally); }
  void name_area(ProcessEntry& entry, std::uint32_t region);
  std::uint32_t number_wait(const ProcessEntry& entry, std::uint32_t word);
  void keep_stack(const capture::Batch& batch, const capture::Event& event, profile::SampleRecord& record);

  profile::ProfileSink& sink_;
  ProcessTable& table_;
  Accounts& accounts_;
  ProcessNews& news_;
  WaitNames& waits_;
  const capture::OffCpuTracker& off_cpu_;
  const bool slot_states_;
  profile::RecordingInfo recording_;  // as it was told last
  std::vector<std::uint8_t> on_cpu_;  // by source: its samples stand for time on the CPU
  MemoryAccess memory_;
  TagPlace tag_place_;
  ThreadSpans spans_;
  std::deque<profile::StackFrame> frames_;  // of samples_
  std::vector<profile::SampleRecord> samples_;
  bool process_untold_ = false;  // samples_ has some of a process that the sink knows otherwise
  std::uint64_t given_ = 0;
};

}  // namespace tailor::pipeline
