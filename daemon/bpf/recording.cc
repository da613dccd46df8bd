#include "daemon/bpf/recording.h"

#include <fcntl.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "daemon/bpf/sample_encoder.h"
#include "daemon/bpf/suited_events.h"
#include "daemon/capture/decode/told_record.h"
#include "daemon/capture/host/perf_recording.h"
#include "daemon/capture/select/jitter.h"
#include "daemon/profile/accounting.h"
#include "proto/base/errors.h"

namespace tailor::bpf {
namespace {

// What was lost or not drawn is asked for so rarely: it is a system call.
constexpr std::uint64_t kReadsALook = 16;

std::uint32_t flags_of(const capture::CaptureOptions& options) {
  std::uint32_t flags = 0;
  if (options.follow_children) flags |= TAILOR_BPF_FOLLOW;
  if (options.enable_on_exec) flags |= TAILOR_BPF_WAIT_EXEC;
  if (options.start_disabled) flags |= TAILOR_BPF_HELD;
  if (options.stacks == capture::Stacks::kAdaptive) flags |= TAILOR_BPF_STACK_UNKNOWN;
  if (options.stacks == capture::Stacks::kAlways) flags |= TAILOR_BPF_STACK_ALWAYS;
  return flags;
}

}  // namespace

Recording::Recording(os::Os& os, std::shared_ptr<Sampler> sampler,
                     std::unique_ptr<capture::Recording> sideband)
    : os_(os), sampler_(std::move(sampler)), sideband_(std::move(sideband)), notes_(sideband_->notes()) {}

Result<std::unique_ptr<Recording>> Recording::open(os::Os& os, pid_t pid,
                                                   const capture::CaptureOptions& options,
                                                   std::shared_ptr<Sampler> sampler,
                                                   std::unique_ptr<capture::Recording> sideband) {
  std::unique_ptr<Recording> recording(new Recording(os, std::move(sampler), std::move(sideband)));
  const auto& events = recording->sampler_->options().events;
  std::optional<std::uint16_t> switches;
  for (const profile::Source& source : recording->sideband_->sources()) {
    if (source.unit == profile::Unit::kNsOffCpu) switches = source.index;
  }
  if (switches.has_value() != recording->sampler_->options().switches) {
    return internal("the sampler is not one for these events");
  }
  recording->layout_ =
      layout_of(events, options.all_registers, options.stacks != capture::Stacks::kNone, switches);
  recording->renews_ = std::ranges::any_of(options.events, [](const capture::EventSpec& event) {
    return !suits(event) && capture::is_jittered(event);
  });
  recording->layout_.pid = pid;
  recording->layout_.cpu = profile::kEveryCpu;
  for (std::size_t i = 0; i < events.size(); ++i) {
    recording->sources_.push_back(capture::source_of(events[i], static_cast<std::uint16_t>(i)));
  }
  auto number = recording->sampler_->add(pid, flags_of(options), recording->layout_, options.drawn_ppm);
  if (!number) return number.error();
  recording->number_ = *number;
  recording->added_ = true;
  recording->poll_fd_.reset(::fcntl(recording->sampler_->poll_fd(), F_DUPFD_CLOEXEC, 0));
  return recording;
}

Recording::~Recording() {
  if (!added_) return;
  sampler_->stop(number_);
  sampler_->release(number_);
}

void Recording::add_sources(const std::vector<profile::Source>& sources) {
  sources_.insert(sources_.end(), sources.begin(), sources.end());
}

bool Recording::renew(std::unique_ptr<capture::Recording> fresh, capture::ChunkSink& sink) {
  auto* perf = dynamic_cast<capture::PerfRecording*>(fresh.get());
  if (perf == nullptr || perf->ring_count() != sideband_->ring_count()) return false;
  sideband_->set_enabled(false);
  perf->set_enabled(true);
  sideband_->finish(sink);
  const capture::CaptureCounts counts = sideband_->counts();
  before_.bytes += counts.bytes;
  before_.lost += counts.lost;
  before_.lost_said += counts.lost_said;
  before_.filtered += counts.filtered;
  before_.filtered_samples += counts.filtered_samples;
  before_.broken_rings += counts.broken_rings;
  sideband_.reset(perf);
  (void)fresh.release();
  sideband_->number_rings(first_ring_);
  return true;
}

void Recording::number_rings(capture::RingIndex first) {
  first_ring_ = first;
  sideband_->number_rings(first);
  layout_.ring = first + static_cast<capture::RingIndex>(sideband_->ring_count());
}

void Recording::drain(capture::ChunkSink& sink) {
  sideband_->drain(sink);
  read_samples(sink, std::exchange(hurried_, false));
}

void Recording::read_samples(capture::ChunkSink& sink, bool all) {
  if (!std::exchange(told_, true)) sink.on_ring(layout_);
  capture::RingChunk chunk{layout_.ring, sampler_->fetch(number_, all)};
  bytes_ += chunk.bytes.size();
  if (all || ++reads_ % kReadsALook == 0) tell_counts(chunk);
  if (!chunk.bytes.empty()) sink.on_chunk(std::move(chunk));
}

void Recording::tell_counts(capture::RingChunk& chunk) {
  const tailor_bpf_counts counts = sampler_->counts(number_);
  const auto tell = [&](const std::vector<std::byte>& record) {
    chunk.bytes.insert(chunk.bytes.end(), record.begin(), record.end());
  };
  if (counts.lost > lost_said_) {
    tell(capture::lost_record(layout_, os_.now(), counts.lost - lost_said_));
    lost_said_ = counts.lost;
  }
  if (counts.not_drawn > not_drawn_said_) {
    tell(capture::not_drawn_record(layout_, os_.now(), counts.not_drawn - not_drawn_said_,
                                   counts.not_drawn_ns - not_drawn_ns_said_));
    not_drawn_said_ = counts.not_drawn;
    not_drawn_ns_said_ = counts.not_drawn_ns;
  }
}

void Recording::finish(capture::ChunkSink& sink) {
  sampler_->stop(number_);
  sideband_->finish(sink);
  read_samples(sink, true);
  sink.on_ring_closed(layout_.ring);
}

bool Recording::set_enabled(bool enabled) {
  sideband_->set_enabled(enabled);
  sampler_->hold(number_, !enabled);
  return true;
}

int Recording::poll_fd(std::size_t index) const {
  return index < sideband_->ring_count() ? sideband_->poll_fd(index) : poll_fd_.get();
}

int Recording::next_poll_fd(std::size_t index) {
  return index < sideband_->ring_count() ? sideband_->next_poll_fd(index) : -1;
}

capture::CaptureCounts Recording::counts() {
  capture::CaptureCounts counts = sideband_->counts();
  const tailor_bpf_counts taken = sampler_->counts(number_);
  counts.bytes += before_.bytes + bytes_;
  counts.filtered += before_.filtered;
  counts.filtered_samples += before_.filtered_samples;
  counts.broken_rings += before_.broken_rings;
  counts.samples = taken.taken;
  counts.summed = taken.summed;
  counts.lost += before_.lost + taken.lost;
  counts.lost_said += before_.lost_said + lost_said_;
  return counts;
}

}  // namespace tailor::bpf
