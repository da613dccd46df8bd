// The perf events of one recording of one process, or of all CPUs, and the rings they write to.
//
// A process is recorded by one event per thread it has and per CPU, inherited by the threads they make
// (perf_event_open(2): an inherited event can be mapped only if it is bound to a CPU). All events of a CPU
// write to one ring of that CPU; each event's clock decides the ring, too, because the kernel lets only
// events of one clock share a ring.
//
//   open() ---> [events run] ---> drain() again and again ---> finish(): last drain, loss settled
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/capture/decode/pid_filter.h"
#include "daemon/capture/decode/record_scan.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/host/placement.h"
#include "daemon/capture/host/recording.h"
#include "daemon/capture/host/ring.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/capture/select/jitter.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"

namespace tailor::capture {

inline constexpr pid_t kAllProcesses = -1;

class PerfRecording : public Recording {
 public:
  // Opens all events; unless options.enable_on_exec says otherwise they run when this returns. `pid` is a
  // process or kAllProcesses. On failure nothing stays open, and the error names the blocker and the remedy.
  static Result<std::unique_ptr<PerfRecording>> open(os::Os& os, pid_t pid, const CaptureOptions& options);

  pid_t pid() const override { return pid_; }
  const std::vector<profile::Source>& sources() const override { return sources_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  bool user_mode_only() const override;
  std::size_t ring_count() const override { return rings_.size(); }
  std::size_t event_count() const { return events_.size(); }
  std::size_t ring_bytes() const { return options_.ring_bytes; }
  void number_rings(RingIndex first) override;
  void drain(ChunkSink& sink) override;
  void finish(ChunkSink& sink) override;
  int poll_fd(std::size_t index) const override;
  int next_poll_fd(std::size_t index) override;
  std::uint64_t births() const override { return births_; }
  double switches_per_second() const override { return switches_per_second_; }
  CaptureCounts counts() override;

  // Events stop and go on; both are also for a process that is already there.
  bool set_enabled(bool enabled) override;

 private:
  struct RingSlot {
    RingLayout layout;
    os::Mapping memory;
    std::unique_ptr<Ring> ring;
    std::vector<std::size_t> events;  // into events_
    std::size_t polled = 0;           // into events
    bool layout_changed = true;
    std::vector<std::byte> early;  // read while attaching
    RecordScan scan;
  };
  struct OpenEvent {
    UniqueFd fd;
    std::size_t spec = 0;
    pid_t tid = kAllProcesses;
    UniqueFd leader;  // of its group, if it needs one
  };
  using RingKey = std::pair<int, RecordClock>;  // CPU and clock

  PerfRecording(os::Os& os, pid_t pid, CaptureOptions options)
      : os_(os),
        pid_(pid),
        options_(std::move(options)),
        enabled_(!options_.start_disabled),
        draw_(static_cast<std::uint64_t>(os.now()) ^ static_cast<std::uint64_t>(pid) << 32) {}

  Status open_events();
  void list_sources();
  void tell_wait_functions();
  Status open_for_process();
  Status open_per_cpu(const std::string& reason);
  Status attach_process();
  Status look_at_threads();
  void look_again();
  void set_enabled(const OpenEvent& event, bool enabled);
  Status open_thread(pid_t tid);
  Status open_on_cpu(pid_t tid, int cpu);
  Result<OpenEvent> open_event(std::size_t spec, pid_t tid, int cpu);
  Result<OpenEvent> open_group(std::size_t spec, pid_t tid, int cpu);
  bool only_per_cpu(const Error& failure) const;
  std::uint64_t period_of(std::size_t spec, int cpu);
  bool relax(std::size_t spec, const Error& failure);
  Status join_ring(std::size_t event, int cpu, const perf_event_attr& attr);
  Status map_ring(RingSlot& slot, int fd);
  Result<std::vector<pid_t>> threads_now();
  bool was_inherited(pid_t tid);
  void make_attrs(bool process);
  void close_all();
  void read_early();
  void read_ring(RingSlot& slot, std::vector<std::byte>& bytes);
  void tell_untold_losses(RingSlot& slot, ChunkSink& sink);
  std::uint64_t kernel_losses(const RingSlot& slot);
  std::vector<CountedTime> counted_times();

  os::Os& os_;
  pid_t pid_;
  CaptureOptions options_;
  std::vector<profile::Source> sources_;
  std::vector<std::uint16_t> source_of_;  // by spec
  std::vector<perf_event_attr> attrs_;    // per spec, as the kernel accepted them
  std::vector<std::string> notes_;
  std::vector<int> cpus_;
  bool enabled_;
  PeriodDraw draw_;
  std::map<std::pair<int, std::size_t>, std::uint64_t> periods_;  // by CPU and spec
  std::optional<PidFilter> filter_;                               // where others' records come too
  bool per_cpu_ = false;                                          // one event per CPU, for one process
  std::set<pid_t> opened_;
  // What is being attached: threads that nobody has told of yet, and those that were told of by FORK records.
  std::set<pid_t> waiting_, inherited_;
  int looks_ = 0;                // at the threads
  TimeNs next_look_ = kTimeMax;  // kTimeMax: all of them are told
  std::optional<SwitchWatch> switches_;
  double switches_per_second_ = 0;
  std::vector<OpenEvent> events_;
  std::vector<RingSlot> rings_;
  std::map<RingKey, std::size_t> ring_by_key_;
  std::uint64_t bytes_ = 0;
  std::uint64_t births_ = 0;
};

// PerfRecording::open as an OpenRecording.
Result<std::unique_ptr<Recording>> open_by_perf(os::Os& os, pid_t pid, const CaptureOptions& options);

}  // namespace tailor::capture
