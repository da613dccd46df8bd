// What the reader reads: the rings of one recording of a process, by whatever means they are filled.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/host/event_counts.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

// Where the bytes went; all counts are of records and add up over the recording's life.
struct CaptureCounts {
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;           // taken by a BPF program, those it had no room for not among them
  std::uint64_t summed = 0;            // of these, added up in the kernel
  std::uint64_t lost = 0;              // for lack of room in a ring, as the kernel counts per event
  std::uint64_t lost_said = 0;         // of these, already told by LOST records in the rings
  std::uint64_t filtered = 0;          // of other processes, removed
  std::uint64_t filtered_samples = 0;  // of these, samples
  std::uint64_t broken_rings = 0;      // see Ring::broken
  std::vector<CountedTime> times;      // of the sources whose events count in the CPU
};

// Owned by one thread at a time: made by the thread that asks for a recording, then handed to the reader.
class Recording {
 public:
  virtual ~Recording() = default;

  // The process, or kAllProcesses.
  virtual pid_t pid() const = 0;
  virtual const std::vector<profile::Source>& sources() const = 0;
  // Why these events and this means, then what had to be given up to be allowed at all ("without kernel
  // samples: ..."), for the profile.
  virtual const std::vector<std::string>& notes() const = 0;
  // Whether its samples bring the tag of the thread's memory slot, where the process keeps its tags there.
  virtual bool reads_slots() const { return false; }
  // Whether the timers among its events see user mode only.
  virtual bool user_mode_only() const { return false; }
  // Whether it draws the periods of its samples anew by itself; else another recording has to take its place.
  virtual bool redraws() const { return false; }
  // Whether periods of events that perf takes in it are to be drawn anew by renew().
  virtual bool renews() const { return false; }
  // `fresh`, whose events do not run yet, takes the place of what perf takes in this recording; rings keep
  // their numbers. False: it does not fit, and everything stays. The reader's thread.
  virtual bool renew(std::unique_ptr<Recording> /*fresh*/, ChunkSink& /*sink*/) { return false; }
  // For how long samples are added up before they are drained, each sum under the time of its last sample. 0:
  // they are not.
  virtual TimeNs adds_up() const { return 0; }
  virtual std::size_t ring_count() const = 0;
  // Numbers the rings from `first`; before the first drain.
  virtual void number_rings(RingIndex first) = 0;

  // Reads every ring once. Layouts that are new or have changed go first.
  virtual void drain(ChunkSink& sink) = 0;
  // Samples that were taken up to then have been drained. kTimeMax: all that there was at the last drain.
  virtual TimeNs complete_until() const { return kTimeMax; }
  // The next drain reads everything, also what is still being added up.
  virtual void hurry() {}
  // The reader looks seldom from now on, or often again: true if each record wakes the reader then
  // (poll_fd()). Where that cannot be done it has to look.
  virtual bool set_seldom_read(bool /*seldom*/) { return false; }
  // Ends the recording: events off, last drain, losses that no LOST record told yet are told by one, rings
  // closed. The recording is useless afterwards.
  virtual void finish(ChunkSink& sink) = 0;

  // Samples stop and go on. False where that cannot be done.
  virtual bool set_enabled(bool /*enabled*/) { return false; }

  // A descriptor to wait on for ring `index` (0 .. ring_count), -1 if none is left: the watermark of the ring
  // wakes it. After a hang-up (its thread ended) next_poll_fd() gives another one.
  virtual int poll_fd(std::size_t index) const = 0;
  virtual int next_poll_fd(std::size_t index) = 0;

  // Threads and processes that were made, as far as it was drained, while each of them got events of its own,
  // which begin with a full period. 0 where they do not.
  virtual std::uint64_t births() const { return 0; }

  // Context switches a second of a process whose threads have events of their own, as soon as they were
  // counted; else 0.
  virtual double switches_per_second() const { return 0; }

  // What the kernel and the rings say now.
  virtual CaptureCounts counts() = 0;
};

// Makes a recording of a process; called by any thread. Errors name the blocker and the remedy.
using OpenRecording =
    std::function<Result<std::unique_ptr<Recording>>(os::Os&, pid_t, const CaptureOptions&)>;

}  // namespace tailor::capture
