// A recording whose samples a BPF program takes. An ordinary perf recording brings the rest: tasks, mappings,
// switches, and events that are better left to perf.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "daemon/bpf/sampler.h"
#include "daemon/capture/host/recording.h"

namespace tailor::bpf {

class Recording : public capture::Recording {
 public:
  // `sideband` is of the same process; its sources, if any, are numbered behind the sampler's.
  static Result<std::unique_ptr<Recording>> open(os::Os& os, pid_t pid,
                                                 const capture::CaptureOptions& options,
                                                 std::shared_ptr<Sampler> sampler,
                                                 std::unique_ptr<capture::Recording> sideband);
  ~Recording() override;

  pid_t pid() const override { return sideband_->pid(); }
  const std::vector<profile::Source>& sources() const override { return sources_; }
  const std::vector<std::string>& notes() const override { return notes_; }
  bool reads_slots() const override { return true; }
  bool redraws() const override { return !renews_; }
  bool renews() const override { return renews_; }
  bool renew(std::unique_ptr<capture::Recording> fresh, capture::ChunkSink& sink) override;
  double switches_per_second() const override { return sideband_->switches_per_second(); }
  bool user_mode_only() const override { return sampler_->options().exclude_kernel; }
  TimeNs adds_up() const override { return sampler_->adds_up(); }
  TimeNs complete_until() const override { return sampler_->complete_until(number_); }
  void hurry() override { hurried_ = true; }
  bool set_seldom_read(bool seldom) override { return sampler_->set_seldom_read(seldom); }
  std::size_t ring_count() const override { return sideband_->ring_count() + 1; }
  void number_rings(capture::RingIndex first) override;
  void drain(capture::ChunkSink& sink) override;
  void finish(capture::ChunkSink& sink) override;
  bool set_enabled(bool enabled) override;
  int poll_fd(std::size_t index) const override;
  int next_poll_fd(std::size_t index) override;
  capture::CaptureCounts counts() override;

  // Those of `sources` that are samples.
  void add_sources(const std::vector<profile::Source>& sources);

 private:
  Recording(os::Os& os, std::shared_ptr<Sampler> sampler, std::unique_ptr<capture::Recording> sideband);
  void read_samples(capture::ChunkSink& sink, bool all);
  // Adds what the program has dropped since the last call.
  void tell_counts(capture::RingChunk& chunk);

  os::Os& os_;
  std::shared_ptr<Sampler> sampler_;
  std::unique_ptr<capture::Recording> sideband_;
  std::vector<profile::Source> sources_;
  std::vector<std::string> notes_;
  capture::RingLayout layout_;
  std::uint32_t number_ = 0;  // of the recording, in the sampler
  bool added_ = false, told_ = false, hurried_ = false, renews_ = false;
  capture::RingIndex first_ring_ = 0;
  capture::CaptureCounts before_;  // of what perf took before it was renewed
  UniqueFd poll_fd_;               // of our own: other recordings wait on the same ring
  std::uint64_t bytes_ = 0, lost_said_ = 0, not_drawn_said_ = 0, not_drawn_ns_said_ = 0;
  std::uint64_t reads_ = 0;  // of the ring
};

}  // namespace tailor::bpf
