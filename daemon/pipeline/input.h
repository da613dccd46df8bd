// Everything that can happen to a pipeline, as calls: what a recorder makes, what the journal keeps and
// what a replay makes again. Nothing else reaches the pipeline: no clock, no file, no random number.
#pragma once

#include <string>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/clock/conversion.h"
#include "daemon/profile/sink.h"
#include "daemon/registration/events.h"
#include "proto/base/ids.h"

namespace tailor::pipeline {

// Memory of a process as /proc/PID/maps has it.
struct MemoryMapping {
  std::uint64_t begin = 0, size = 0;
  bool readable = false, writable = false, executable = false, shared = false;
  std::string name;
};

// The path of executable memory without a name, among the mappings of a process that is known.
inline constexpr const char* kNamelessCode = "[anon]";

// A process that is sampled, or was found to run, before it said anything itself.
struct KnownProcess {
  ProcessId process;
  std::string comm;
  std::string cgroup = {};                            // path in the unified hierarchy; "" unknown
  std::vector<profile::MappingRecord> mappings = {};  // that it had by then
  std::int32_t agent_thread = 0;                      // the agent's own, 0: none yet
  std::vector<MemoryMapping> memory = {};             // all of it, where samples have data addresses
  TimeNs since = kTimeMin;  // records tell what it mapped from then on; kTimeMin: from when this is told
  bool more = false;        // of its mappings and memory: they are told in parts, and this is not the last
  std::string rules = {};   // the rule file that the configuration names for it; "": what is known stays
};

// The events that sampled a process were closed, and everything their rings held was handed over.
struct CaptureEnded {
  ProcessId process;
  TimeNs time = 0;       // nothing was taken after it
  bool goes_on = false;  // by other events, without a pause
  // As in capture::CaptureCounts.
  std::uint64_t records_filtered = 0;
  std::uint64_t samples_filtered = 0;
  std::uint64_t broken_rings = 0;
};

// One thread. Times of events are those of their sources; `now` is CLOCK_MONOTONIC_RAW.
class Input {
 public:
  virtual ~Input() = default;

  // How the recording is made; given again when it changes (an event source was added).
  virtual void on_recording(const profile::RecordingInfo& info) = 0;
  // A piece of the clock's timeline; `restarted`: what was before it no longer counts. The first one comes
  // before anything that carries a TSC value.
  virtual void on_clock(const clock::Conversion& piece, bool restarted) = 0;
  // perf's own clock by the TSC (clock/perf_time.h), before a ring that is stamped by it and whenever it
  // changes.
  virtual void on_perf_clock(const clock::Conversion& line) = 0;
  virtual void on_known_process(const KnownProcess& process) = 0;

  // As capture::ChunkSink.
  virtual void on_ring(const capture::RingLayout& layout) = 0;
  virtual void on_chunk(const capture::RingChunk& chunk) = 0;
  virtual void on_round(TimeNs horizon) = 0;
  virtual void on_ring_closed(capture::RingIndex ring) = 0;

  // As registration::Sink.
  virtual void on_connected(const registration::PeerConnected& event) = 0;
  virtual void on_message(const registration::PeerMessage& event) = 0;
  virtual void on_activity(const registration::ActivityRecords& event) = 0;
  virtual void on_settled(const registration::Settled& event) = 0;
  virtual void on_rejected(const registration::PeerRejected& event) = 0;
  // Messages that the agent itself dropped, since it started.
  virtual void on_agent_dropped(ProcessId process, std::uint64_t messages) = 0;
  // Messages that the agent has ready and has not sent, where its connection ends now, or the recording.
  virtual void on_agent_unsent(ProcessId process, std::uint64_t messages) = 0;
  virtual void on_gone(const registration::PeerGone& event) = 0;

  virtual void on_capture_ended(const CaptureEnded& event) = 0;
  // The process has ended, and everything its rings held was handed over.
  virtual void on_process_ended(ProcessId process) = 0;
  // What functions of a file that ran are called: behind everything that says where it was mapped.
  virtual void on_names(const profile::FileNames& names) = 0;

  // Time has passed: what is older than the watermark is attributed and given out.
  virtual void advance(TimeNs now) = 0;
  // The same up to `now` itself: the caller knows that nothing earlier is still on its way.
  virtual void flush(TimeNs now) = 0;
};

}  // namespace tailor::pipeline
