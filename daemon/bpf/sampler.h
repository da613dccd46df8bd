// The BPF program at work: one set of events per CPU and one ring, shared by all recordings that ask for the
// same events. An idle daemon has none. Timers run on the CPUs where recorded threads run (cpu_placement.h);
// counters on all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "daemon/bpf/clock_pair.h"
#include "daemon/bpf/cpu_events.h"
#include "daemon/bpf/cpu_placement.h"
#include "daemon/bpf/sample_encoder.h"
#include "daemon/bpf/sampler_abi.h"
#include "daemon/capture/decode/agent_tag.h"
#include "daemon/capture/decode/ring_chunk.h"
#include "daemon/capture/select/event_spec.h"
#include "daemon/os/os.h"
#include "proto/base/result.h"
#include "proto/base/unique_fd.h"

struct sampler_bpf;
struct bpf_link;
struct ring_buffer;

namespace tailor::bpf {

struct SamplerOptions {
  std::vector<capture::EventSpec> events;  // source i is events[i]
  bool exclude_kernel = false;
  bool jitter = true;                    // see capture::CaptureOptions
  std::size_t ring_bytes = 0;            // per CPU; a power of two
  bool switches = false;                 // the slots of threads that leave the CPU are read, too
  TimeNs aggregate = 0;                  // samples are added up for so long, 0: they are not
  std::uint32_t sums = TAILOR_BPF_SUMS;  // at most, at a time; samples beyond come one by one
  bool operator==(const SamplerOptions&) const = default;
};

// Any threads, except where a function says more.
class Sampler {
 public:
  // Loads the program and opens the events on all CPUs. The error names what forbids it and the remedy.
  static Result<std::shared_ptr<Sampler>> start(os::Os& os, const SamplerOptions& options);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  const SamplerOptions& options() const { return options_; }

  // From now on samples of `pid` are taken. `flags` are TAILOR_BPF_FOLLOW (its forked children too),
  // _WAIT_EXEC (from its next execve on), _HELD (from hold(false) on) and _STACK_*. `drawn_ppm`: as in
  // capture::CaptureOptions. Returns the number of the recording; its samples come as records of `layout`.
  Result<std::uint32_t> add(pid_t pid, std::uint32_t flags, const capture::RingLayout& layout,
                            std::uint32_t drawn_ppm = 0);
  // What its agent says of tags, NULL: it has none (any more). A process that is not recorded is left alone.
  void tell_agent(pid_t pid, const capture::AgentTag* tags);
  // Whether a sample in that page (address / 4096) of the process says by itself whose it is (CodePages).
  void tell_code_page(pid_t pid, std::uint64_t page, bool is_known);
  // Nothing of the recording is taken for now, or again.
  void hold(std::uint32_t recording, bool held);
  // Nothing of the recording is taken any more. Samples that were taken can still be fetched.
  void stop(std::uint32_t recording);
  // Its number may be another's.
  void release(std::uint32_t recording);

  // Samples that were taken until the ring was read last: now, unless that was for another recording since
  // the last call for this one. As perf records of the recording's layout. Those that are added up come when
  // their time is over, or at once with `all`: a record per sum, with its last sample's time and all their
  // weight. One thread.
  std::vector<std::byte> fetch(std::uint32_t recording, bool all = false);
  // All sums of its samples up to then were fetched, kTimeMax where none are made.
  TimeNs complete_until(std::uint32_t recording);
  // For how long samples are added up, 0: of no event.
  TimeNs adds_up() const;
  // Of this recording so far, summed over the CPUs.
  tailor_bpf_counts counts(std::uint32_t recording);
  // Becomes readable when the ring is filling up, or a timer is wanted.
  int poll_fd() const;
  // With `seldom` it becomes readable at each record. False: samples that are added up have to be looked for.
  bool set_seldom_read(bool seldom);
  // On how many CPUs the events run.
  std::size_t running_cpus();

 private:
  struct Member {
    pid_t pid = 0;
    capture::RingLayout layout;
    std::vector<std::byte> records;
    tailor_bpf_counts before = {};    // what the number's last user had counted
    TimeNs fetched_until = kTimeMin;  // of what is added up
    bool fresh = false;               // the ring was read since its last fetch()
  };

  Sampler(os::Os& os, SamplerOptions options) : os_(os), options_(std::move(options)) {}
  Status load();
  Status open_events();
  Status map_cpus();
  bool follows_threads() const;
  void want_timers_of(pid_t pid);
  std::vector<std::uint32_t> pids_of(std::uint32_t recording) const;
  void place(TimeNs now);
  void read_ring();
  bool sums_are_due(bool all);
  void read_sums();
  void take_sums(int map);
  static Brought brought_by(const void* data, std::size_t size);
  static int on_record(void* self, void* data, std::size_t size);
  tailor_bpf_counts raw_counts(std::uint32_t recording) const;

  os::Os& os_;
  SamplerOptions options_;
  sampler_bpf* program_ = nullptr;
  ring_buffer* ring_ = nullptr;
  std::uint64_t wakeup_bytes_ = 0;  // of the ring, from which on the descriptor is readable
  std::vector<bpf_link*> links_;
  std::vector<int> online_;
  os::Mapping cpu_memory_;  // shared with the program: a tailor_bpf_cpu each

  std::mutex mutex_;  // guards what follows
  std::map<std::uint32_t, Member> members_;
  ClockPair earlier_, now_;
  std::size_t active_ = 0;  // which of the two maps samples are added up in
  TimeNs sums_read_ = 0;    // up to then
  ClockPair sums_began_;    // those that are being made
  std::optional<CpuEvents> cpu_events_;
  std::optional<CpuPlacement> placement_;
};

}  // namespace tailor::bpf
