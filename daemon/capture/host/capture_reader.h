// The one thread that reads perf rings.
//
// It sleeps until a ring is a quarter full or `interval` has passed (or more, where nothing comes), then
// reads all rings of all recordings and tells the sink the horizon. Recordings come and go while it runs;
// each is drained to the end before its rings are closed, and its last losses are told. All of this can also
// be done by steps, without a thread and without waiting.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/host/perf_recording.h"
#include "daemon/capture/host/recording.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

using RecordingNumber = std::uint32_t;

// A recording that a reader has taken over, and what is known of it from the start.
struct Attached {
  RecordingNumber id = 0;
  std::vector<profile::Source> sources;
  std::vector<std::string> notes;  // see Recording::notes
  bool reads_slots = false;        // see Recording::reads_slots
  bool user_mode_only = false;     // see Recording::user_mode_only
  bool redraws = false;            // see Recording::redraws
  bool renews = false;             // see Recording::renews
  TimeNs adds_up = 0;              // see Recording::adds_up
};

class CaptureReader {
 public:
  // On the reader's thread, after the last chunk of a recording: its process has ended or remove() was
  // called.
  using OnEnd = std::function<void(RecordingNumber, const CaptureCounts&)>;

  // `sink` and `on_end` are called on the reader's thread only, and outlive the reader. `open` makes the
  // recordings: open_by_perf, or a bpf::Opener.
  CaptureReader(os::Os& os, ChunkSink& sink, OnEnd on_end, OpenRecording open = open_by_perf,
                std::chrono::milliseconds interval = std::chrono::milliseconds(50));
  // Stops, after a last read; recordings that are left are finished.
  ~CaptureReader();

  // Who makes the rounds: a thread of the reader, or a test by step(), each time that it wants one.
  enum class Rounds : std::uint8_t { kByThread, kByStep };
  Status start(Rounds rounds = Rounds::kByThread);
  void stop();
  // Without waiting; after stop() nothing.
  void step();

  // Any thread. Opens a recording and takes it over. Meanwhile the horizon stands still, so that what is
  // recorded while it attaches is not late.
  Result<Attached> attach(pid_t pid, const CaptureOptions& options);
  // Any thread. A recording of the same process takes the place of `old`, with other options: no sample is
  // taken twice, and what passes between the last sample of one and the first of the other is the time of
  // some system calls. On failure `old` goes on.
  Result<Attached> replace(RecordingNumber old, pid_t pid, const CaptureOptions& options);
  // Any thread. The events of perf in a recording of that process get other periods, see Recording::renew().
  // On failure it goes on as it is.
  Status renew(RecordingNumber id, pid_t pid, const CaptureOptions& options);
  // Any thread. The recording is finished on the next round.
  void remove(RecordingNumber id);
  // What a recording has seen of the threads that have events of their own: see Recording::births and
  // Recording::switches_per_second.
  struct ThreadFacts {
    std::uint64_t births = 0;
    double switches_per_second = 0;
  };
  // Any thread. Nothing of a recording that is not there.
  ThreadFacts threads(RecordingNumber id);
  // Any thread. The next round reads everything, see Recording::hurry().
  void hurry();

 private:
  struct Member {
    std::unique_ptr<Recording> recording;
    UniqueFd pidfd;
  };

  struct NewMember {
    RecordingNumber id;
    std::unique_ptr<Recording> recording;
    RecordingNumber replaces = 0;  // 0: none
    bool renews = false;           // it takes a part of the place of that one only
  };

  void run();
  void round();
  void finish();
  Result<Attached> open(pid_t pid, const CaptureOptions& options, RecordingNumber replaces, bool renews);
  void take_requests();
  void change_over(const NewMember& added);
  void renew_part(NewMember& added);
  void tell_threads();
  void tell_horizon();
  void admit(RecordingNumber id, std::unique_ptr<Recording> recording);
  void end(RecordingNumber id);
  bool is_closed(const Recording& recording) const;
  bool takes_samples() const;
  std::chrono::milliseconds time_to_wait();
  void wait_for_data(std::chrono::milliseconds most);
  void handle(const os::Ready& ready);
  void wake();

  os::Os& os_;
  ChunkSink& sink_;
  OnEnd on_end_;
  OpenRecording open_;
  std::chrono::milliseconds interval_;
  std::unique_ptr<os::Poller> poller_;
  UniqueFd wakeup_;
  std::atomic<bool> stopping_ = false, hurried_ = false;

  std::mutex mutex_;  // guards what follows, up to the blank line
  std::vector<NewMember> to_add_;
  std::vector<RecordingNumber> to_remove_;
  std::map<RecordingNumber, TimeNs> attaching_;  // since when
  RecordingNumber last_id_ = 0;
  std::map<RecordingNumber, ThreadFacts> facts_;

  std::map<RecordingNumber, Member> members_;  // the reader's thread only
  std::vector<RecordingNumber> ended_;         // processes that ended, to be finished after this round
  RingIndex next_ring_ = 0;
  int rounds_of_nothing_ = 0;  // one after the other
  bool seldom_ = false;        // each record wakes the thread
  TimeNs last_round_ = kTimeMin;
  bool by_step_ = false;  // until stop()
  std::thread thread_;
};

}  // namespace tailor::capture
