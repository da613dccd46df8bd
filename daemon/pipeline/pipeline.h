// From inputs to a profile: decodes, sorts, attributes behind the watermark, and hands on. Deterministic: the
// same inputs give the same calls on the sink, so a journal replays to a byte-identical profile.
//
//   rings ----> decoders ----> sorter --+
//                                       | watermark = the least of: now - delay, the readers' horizon, what
//   agents ---> process table ----------+ each connected agent has settled; but never behind now - max_lag
//                                       v
//                                  attribute() ----> sink
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "daemon/capture/decode/event_sorter.h"
#include "daemon/capture/decode/off_cpu.h"
#include "daemon/capture/decode/throttle_gaps.h"
#include "daemon/clock/timeline.h"
#include "daemon/pipeline/agent_messages.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/kernel_code.h"
#include "daemon/pipeline/memory_access.h"
#include "daemon/pipeline/pebs_watch.h"
#include "daemon/pipeline/problems.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/pipeline/ring_set.h"
#include "daemon/pipeline/thread_spans.h"
#include "daemon/process/limits.h"

namespace tailor::pipeline {

struct PipelineOptions {
  TimeNs delay = 200'000'000;                       // how long samples wait for what is said about them
  TimeNs max_lag = 2'000'000'000;                   // but never longer than this
  bool all_marks = false;                           // every record of the activity logs is kept
  std::size_t most_pending = std::size_t{1} << 20;  // events that wait; beyond it the older half leaves early
  process::Limits limits;
};

struct PipelineStats {
  TimeNs watermark = kTimeMin;
  std::uint64_t samples = 0;    // given to the sink
  std::uint64_t late = 0;       // events that came after the watermark had passed them
  std::uint64_t undecoded = 0;  // records
  std::uint64_t refused_rings = 0;
  std::uint64_t without_settlement = 0;  // times the watermark went on though an agent had not settled
  std::uint64_t problems = 0;
  std::size_t processes = 0;
  std::size_t pending = 0;        // events that wait for the watermark
  std::size_t pending_bytes = 0;  // of memory that they hold
};

// One thread; `sink` must outlive it.
class Pipeline : public Input {
 public:
  Pipeline(profile::ProfileSink& sink, PipelineOptions options = {});

  void on_recording(const profile::RecordingInfo& info) override;
  void on_clock(const clock::Conversion& piece, bool restarted) override;
  void on_perf_clock(const clock::Conversion& line) override;
  void on_known_process(const KnownProcess& process) override;
  void on_ring(const capture::RingLayout& layout) override;
  void on_chunk(const capture::RingChunk& chunk) override;
  void on_round(TimeNs horizon) override;
  void on_ring_closed(capture::RingIndex ring) override;
  void on_connected(const registration::PeerConnected& event) override { messages_.connected(event); }
  void on_message(const registration::PeerMessage& event) override {
    took_message_ = messages_.message(event);
  }
  void on_activity(const registration::ActivityRecords& event) override { messages_.activity(event); }
  void on_settled(const registration::Settled& event) override { messages_.settled(event); }
  void on_rejected(const registration::PeerRejected& event) override { messages_.rejected(event); }
  void on_agent_dropped(ProcessId process, std::uint64_t messages) override;
  void on_gone(const registration::PeerGone& event) override { messages_.gone(event, now_); }
  void on_capture_ended(const CaptureEnded& event) override;
  void on_process_ended(ProcessId process) override;
  void on_names(const profile::FileNames& names) override { sink_.on_names(names); }
  void advance(TimeNs now) override;
  void flush(TimeNs now) override;

  PipelineStats stats() const;
  // Of all processes, and of what belongs to none.
  profile::Accounting total();
  // What every connected agent has settled, kTimeMax without one: for whoever waits before a flush.
  TimeNs settled();
  TimeNs horizon() const { return round_; }
  // The latest time of any record so far, kTimeMin without one.
  TimeNs newest() const { return newest_; }
  // The same of samples. Other records may be told ahead of their time.
  TimeNs newest_sample() const { return newest_sample_; }
  // Of the samples of the last chunk.
  TimeNs newest_of_chunk() const { return newest_of_chunk_; }
  // Whether the recorded times of PEBS samples are those of the buffer's drain, by their own testimony.
  bool pebs_times_doubted() const { return pebs_watch_.doubted(); }
  std::vector<Problem> take_problems() { return problems_.take(); }
  // Processes of which records of mappings were lost since the last call, and after what time. A look at each
  // says what is mapped now.
  struct MapsLost {
    ProcessId process;
    TimeNs time = 0;
  };
  std::vector<MapsLost> take_lost_maps() { return std::exchange(lost_maps_, {}); }
  // Whether the last message was taken; if not, nobody else is to keep anything of it.
  bool took_message() const { return took_message_; }
  AgentMessages& messages() { return messages_; }
  // What processes keep here, of memory.
  std::size_t kept_bytes() const { return shares_.bytes(); }
  const std::map<std::uint32_t, Shares::User>& users() const { return shares_.users(); }
  ProcessTable& processes() { return table_; }
  const clock::Timeline& timeline() const { return timeline_; }

 private:
  static void adopt_nameless(const capture::RingLayout& layout, capture::Batch& batch);
  void count_losses(const capture::RingLayout& layout, const capture::Batch& batch);
  void count_gaps(std::vector<capture::ThrottleGap> ended);
  void count_overall();
  void take_late(capture::Batch& late);
  void cut_waits(TimeNs watermark);
  void move_watermark(TimeNs watermark);
  void handle(const capture::Batch& batch, capture::Event& event);
  void sample(const capture::Batch& batch, capture::Event& event);
  void packed_sample(const capture::Batch& batch, const capture::PackedSample& sample);
  bool sample_in_span(const capture::PackedSample& sample);
  bool begin_span(ThreadSpan& span, const capture::PackedSample& sample);
  void count_span(ThreadSpan& span);
  void end_spans();
  ProcessEntry* receive(std::int32_t pid, TimeNs time);
  bool drops(ProcessEntry& entry, const profile::SampleRecord& record);
  void count_not_drawn(ProcessEntry& entry, std::uint64_t samples, std::uint64_t on_cpu_ns);
  void finish(ProcessEntry& entry, const profile::SampleRecord& record);
  void look_for_tag(std::uint32_t strategy, std::uint32_t registers);
  bool find_tag(const ProcessEntry& entry, std::uint32_t registers);
  void name_thread(const capture::Batch& batch, const capture::Event& event);
  void name_agent(ProcessEntry& entry);
  void kernel_symbol(const capture::Batch& batch, const capture::Event& event);
  void mapped(const capture::Batch& batch, const capture::Event& event);
  bool look_again(TimeNs watermark);
  static void map_areas(ProcessEntry& entry, const KnownProcess& process);
  void take_look(ProcessEntry& entry, const KnownProcess& process);
  void map_again(const KnownProcess& process, TimeNs time);
  void map_late(ProcessEntry& entry, const KnownProcess& process, TimeNs time);
  static void note_code(ProcessEntry& entry, const profile::MappingRecord& mapping);
  void map_known(ProcessEntry& entry, const profile::MappingRecord& mapping);
  void map_file(ProcessEntry& entry, const profile::MappingRecord& mapping);
  bool may_tell_mapping(ProcessEntry& entry, TimeNs time) const;
  void tell_mapping(ProcessEntry& entry, const profile::MappingRecord& mapping);
  void tell_executed(ProcessEntry& entry, TimeNs time);
  void end_mappings(ProcessEntry& entry, TimeNs time);
  void process_started(const capture::Event& event);
  void start_on_behalf(const capture::Event& event, ProcessEntry& child);
  void thread_ended(const capture::Event& event);
  ProcessEntry* owner(std::int32_t pid, TimeNs time);
  profile::Accounting& accounting(ProcessEntry* entry);
  bool is_on_cpu(std::uint16_t source) const { return source < on_cpu_.size() && on_cpu_[source] != 0; }
  static_assert(process::kMemoryAreas <= 16);
  void name_area(ProcessEntry& entry, std::uint32_t region);
  std::uint32_t number_wait(const ProcessEntry& entry, std::uint32_t word);
  void keep_stack(const capture::Batch& batch, const capture::Event& event, profile::SampleRecord& record);
  void flush_samples();
  void tell_regions();
  void tell_changes();

  // What leaves the sorter.
  struct Leaving {
    Pipeline& to;
    void operator()(const capture::Batch& batch, capture::Event& event) { to.handle(batch, event); }
    void operator()(const capture::Batch& batch, const capture::PackedSample& sample) {
      to.packed_sample(batch, sample);
    }
  };

  // Where the tag of an agent of that strategy lies among the sampled registers.
  struct TagPlace {
    std::uint32_t strategy = 0;
    std::uint32_t registers = 0;
    bool present = false;
    std::uint32_t before = 0;  // sampled registers with lower numbers
  };

  profile::ProfileSink& sink_;
  profile::RecordingInfo recording_;  // as it was told last
  PipelineOptions options_;
  Problems problems_;
  clock::Timeline timeline_;
  Shares shares_;
  ProcessTable table_;  // entries give their shares back
  AgentMessages messages_;
  bool took_message_ = false;
  RingSet rings_;
  PebsWatch pebs_watch_;
  capture::EventSorter sorter_;
  capture::OffCpuTracker off_cpu_;
  KernelCode kernel_code_;
  capture::ThrottleGaps throttle_gaps_;
  MemoryAccess memory_;
  std::vector<std::uint8_t> on_cpu_;  // by source: its samples stand for time on the CPU
  profile::Accounting nobodys_;       // of no process
  bool nobodys_changed_ = false;
  bool cpu_wide_ = false;  // rings hold samples of processes nobody asked for
  struct CutWaits {
    std::int32_t pid = 0;
    TimeNs time = 0;
  };
  std::vector<CutWaits> cuts_;  // to be made when the watermark gets there
  struct Look {
    KnownProcess process;
    TimeNs time = 0;
  };
  void note_lost_maps(const capture::RingLayout& layout, TimeNs since);
  std::vector<MapsLost> lost_maps_;
  std::deque<Look> looks_;  // to be taken when the watermark gets there
  TimeNs now_ = kTimeMin;
  TimeNs round_ = kTimeMin;
  PipelineStats stats_;
  TagPlace tag_place_;
  ThreadSpans spans_;
  capture::Intake decoded_;
  capture::Batch late_;
  TimeNs newest_ = kTimeMin, newest_sample_ = kTimeMin, newest_of_chunk_ = kTimeMin;
  std::deque<profile::StackFrame> frames_;  // of samples_
  std::vector<profile::SampleRecord> samples_;
  bool process_untold_ = false;  // samples_ has some of a process that the sink knows otherwise
};

inline ProcessEntry* Pipeline::owner(std::int32_t pid, TimeNs time) {
  ProcessEntry* entry = table_.at(pid, time);
  if (entry != nullptr || cpu_wide_) return entry;
  return table_.add_unnamed(pid, kTimeMin);
}

inline profile::Accounting& Pipeline::accounting(ProcessEntry* entry) {
  if (entry == nullptr) {
    nobodys_changed_ = true;
    return nobodys_;
  }
  entry->accounting_changed = true;
  return entry->accounting;
}

}  // namespace tailor::pipeline
