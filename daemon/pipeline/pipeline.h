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
#include <vector>

#include "daemon/capture/decode/event_sorter.h"
#include "daemon/clock/timeline.h"
#include "daemon/pipeline/accounts.h"
#include "daemon/pipeline/agent_messages.h"
#include "daemon/pipeline/input.h"
#include "daemon/pipeline/losses.h"
#include "daemon/pipeline/mappings.h"
#include "daemon/pipeline/pebs_watch.h"
#include "daemon/pipeline/pipeline_options.h"
#include "daemon/pipeline/problems.h"
#include "daemon/pipeline/process_lives.h"
#include "daemon/pipeline/process_table.h"
#include "daemon/pipeline/ring_set.h"
#include "daemon/pipeline/shares.h"
#include "daemon/pipeline/sorted_events.h"

namespace tailor::pipeline {

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
  void on_known_process(const KnownProcess& process) override { lives_.known(process, now_); }
  void on_ring(const capture::RingLayout& layout) override;
  void on_chunk(const capture::RingChunk& chunk) override;
  void on_round(TimeNs horizon) override;
  void on_ring_closed(capture::RingIndex ring) override;
  void on_connected(const registration::PeerConnected& event) override { messages_.connected(event); }
  void on_message(const registration::PeerMessage& event) override { messages_.message(event); }
  void on_activity(const registration::ActivityRecords& event) override { messages_.activity(event); }
  void on_settled(const registration::Settled& event) override { messages_.settled(event); }
  void on_rejected(const registration::PeerRejected& event) override { messages_.rejected(event); }
  void on_agent_dropped(ProcessId process, std::uint64_t messages) override {
    messages_.dropped(process, messages);
  }
  void on_agent_unsent(ProcessId process, std::uint64_t messages) override {
    messages_.unsent(process, messages);
  }
  void on_gone(const registration::PeerGone& event) override { messages_.gone(event, now_); }
  void on_capture_ended(const CaptureEnded& event) override;
  void on_process_ended(ProcessId process) override;
  void on_names(const profile::FileNames& names) override { sink_.on_names(names); }
  void advance(TimeNs now) override;
  void flush(TimeNs now) override;

  PipelineStats stats() const;
  // Of all processes, and of what belongs to none.
  profile::Accounting total() const { return accounts_.total(); }
  // What every connected agent has settled, kTimeMax without one. A caller of flush() waits for it before.
  TimeNs settled();
  TimeNs horizon() const { return round_; }
  const NewestTimes& newest() const { return rings_.newest(); }
  // Whether the recorded times of PEBS samples are those of the buffer's drain, by their own testimony.
  bool pebs_times_doubted() const { return pebs_watch_.doubted(); }
  std::vector<Problem> take_problems() { return problems_.take(); }
  // Processes of which records of mappings were lost since the last call, and after what time. A look at each
  // says what is mapped now.
  std::vector<Mappings::Lost> take_lost_maps() { return mappings_.take_lost(); }
  AgentMessages& messages() { return messages_; }
  // What processes and users keep here.
  const Shares& shares() const { return shares_; }
  ProcessTable& processes() { return table_; }
  const clock::Timeline& timeline() const { return timeline_; }

 private:
  static void adopt_nameless(const capture::RingLayout& layout, capture::Batch& batch);
  void count_overall();
  void leave(TimeNs before);
  bool take_look(TimeNs watermark);
  void move_watermark(TimeNs watermark);
  void tell_changes();

  profile::ProfileSink& sink_;
  PipelineOptions options_;
  Problems problems_;
  clock::Timeline timeline_;
  Shares shares_;
  ProcessTable table_;  // entries give their shares back
  Accounts accounts_;
  Mappings mappings_;
  AgentMessages messages_;
  ProcessLives lives_;
  RingSet rings_;
  PebsWatch pebs_watch_;
  capture::EventSorter sorter_;
  SortedEvents events_;
  Losses losses_;
  TimeNs now_ = kTimeMin;
  TimeNs round_ = kTimeMin;
  PipelineStats stats_;
  capture::Intake decoded_;
  capture::Batch late_;
};

}  // namespace tailor::pipeline
